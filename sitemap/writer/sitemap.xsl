<?xml version="1.0" encoding="UTF-8"?>
<!-- Shows a sitemap, a sitemap index or a feed as a table. Whatever the sitemap says is text; only http and https URLs are links. -->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
  xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"
  xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
  xmlns:xhtml="http://www.w3.org/1999/xhtml"
  xmlns:atom="http://www.w3.org/2005/Atom"
  exclude-result-prefixes="s image video news xhtml atom">
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat" indent="no"/>

  <xsl:template match="/">
    <html lang="en">
      <head>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <meta name="robots" content="noindex"/>
        <title><xsl:call-template name="heading"/></title>
        <style>
          :root { color-scheme: light dark; --line: #d5d9e0; --quiet: #5b6472; --link: #0b57d0; }
          body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }
          h1 { font-size: 1.4rem; margin: 0; }
          p { color: var(--quiet); margin: .2rem 0 1.5rem; }
          table { border-collapse: collapse; width: 100%; }
          th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top; }
          th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
          td { font-variant-numeric: tabular-nums; }
          td:first-child { min-width: 16rem; overflow-wrap: anywhere; }
          td.date { white-space: nowrap; }
          a { color: var(--link); text-decoration: none; }
          a:hover, a:focus { text-decoration: underline; }
          @media (prefers-color-scheme: dark) {
            :root { --line: #3a3f47; --quiet: #9aa3b0; --link: #8ab4f8; }
            body { background: #16181c; color: #e6e8eb; }
          }
        </style>
      </head>
      <body>
        <h1><xsl:call-template name="heading"/></h1>
        <xsl:apply-templates select="s:urlset | s:sitemapindex | rss/channel | atom:feed"/>
      </body>
    </html>
  </xsl:template>

  <xsl:template name="heading">
    <xsl:choose>
      <xsl:when test="s:sitemapindex">Sitemap index</xsl:when>
      <xsl:when test="rss"><xsl:value-of select="rss/channel/title"/></xsl:when>
      <xsl:when test="atom:feed"><xsl:value-of select="atom:feed/atom:title"/></xsl:when>
      <xsl:otherwise>Sitemap</xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="s:sitemapindex">
    <xsl:call-template name="count">
      <xsl:with-param name="number" select="count(s:sitemap)"/>
      <xsl:with-param name="noun">sitemap</xsl:with-param>
    </xsl:call-template>
    <table>
      <thead><tr><th>Sitemap</th><th>Last modified</th></tr></thead>
      <tbody>
        <xsl:for-each select="s:sitemap">
          <tr>
            <td><xsl:apply-templates select="s:loc"/></td>
            <td class="date"><xsl:value-of select="s:lastmod"/></td>
          </tr>
        </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>

  <!-- Columns for extensions are there when a URL of the file uses them. -->
  <xsl:template match="s:urlset">
    <xsl:variable name="images" select="boolean(s:url/image:image)"/>
    <xsl:variable name="videos" select="boolean(s:url/video:video)"/>
    <xsl:variable name="articles" select="boolean(s:url/news:news)"/>
    <xsl:variable name="variants" select="boolean(s:url/xhtml:link)"/>
    <xsl:call-template name="count">
      <xsl:with-param name="number" select="count(s:url)"/>
      <xsl:with-param name="noun">URL</xsl:with-param>
    </xsl:call-template>
    <table>
      <thead>
        <tr>
          <th>URL</th>
          <th>Last modified</th>
          <xsl:if test="$images"><th>Images</th></xsl:if>
          <xsl:if test="$videos"><th>Videos</th></xsl:if>
          <xsl:if test="$articles"><th>News</th></xsl:if>
          <xsl:if test="$variants"><th>Languages</th></xsl:if>
        </tr>
      </thead>
      <tbody>
        <xsl:for-each select="s:url">
          <tr>
            <td><xsl:apply-templates select="s:loc"/></td>
            <td class="date"><xsl:value-of select="s:lastmod"/></td>
            <xsl:if test="$images"><td><xsl:value-of select="count(image:image)"/></td></xsl:if>
            <xsl:if test="$videos"><td><xsl:value-of select="count(video:video)"/></td></xsl:if>
            <xsl:if test="$articles"><td><xsl:value-of select="news:news/news:title"/></td></xsl:if>
            <xsl:if test="$variants"><td><xsl:value-of select="count(xhtml:link)"/></td></xsl:if>
          </tr>
        </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>

  <xsl:template match="channel | atom:feed">
    <xsl:call-template name="count">
      <xsl:with-param name="number" select="count(item | atom:entry)"/>
      <xsl:with-param name="noun">page</xsl:with-param>
    </xsl:call-template>
    <table>
      <thead><tr><th>Page</th><th>Last modified</th></tr></thead>
      <tbody>
        <xsl:for-each select="item | atom:entry">
          <tr>
            <td>
              <xsl:call-template name="link">
                <xsl:with-param name="url" select="link | atom:link[1]/@href"/>
                <xsl:with-param name="text" select="title | atom:title"/>
              </xsl:call-template>
            </td>
            <td class="date"><xsl:value-of select="pubDate | atom:updated"/></td>
          </tr>
        </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>

  <xsl:template name="count">
    <xsl:param name="number"/>
    <xsl:param name="noun"/>
    <p>
      <xsl:value-of select="format-number($number, '#,##0')"/>
      <xsl:text> </xsl:text>
      <xsl:value-of select="$noun"/>
      <xsl:if test="$number != 1">s</xsl:if>
    </p>
  </xsl:template>

  <xsl:template match="s:loc">
    <xsl:call-template name="link">
      <xsl:with-param name="url" select="."/>
      <xsl:with-param name="text" select="."/>
    </xsl:call-template>
  </xsl:template>

  <xsl:template name="link">
    <xsl:param name="url"/>
    <xsl:param name="text"/>
    <xsl:choose>
      <xsl:when test="starts-with($url, 'http://') or starts-with($url, 'https://')">
        <a href="{$url}" rel="nofollow noreferrer"><xsl:value-of select="$text"/></a>
      </xsl:when>
      <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
