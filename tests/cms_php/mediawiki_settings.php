<?php // What an administrator adds to the settings that the installer wrote: short URLs, as the manual has them.
require getenv('CMS_ROOT') . '/LocalSettings.php';
$wgServer = 'http://' . getenv('CMS_HOST');
$wgCanonicalServer = $wgServer;
$wgScriptPath = '/w';
$wgArticlePath = '/wiki/$1';
$wgUsePathInfo = true;
$wgResourceBasePath = '/w';
$wgUploadDirectory = getenv('CMS_ROOT') . '/images';
$wgCacheDirectory = getenv('CMS_ROOT') . '/cache';
$wgMainCacheType = CACHE_NONE;
$wgJobRunRate = 0;
