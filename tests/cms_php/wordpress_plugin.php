<?php // What the theme and the plugins of a real site do: noindex, hreflang, a hidden post, a page that is gone for good.
add_filter('wp_robots', function ($robots) {
  return is_singular() && get_post_meta(get_queried_object_id(), 'noindex', true) ? ['noindex' => true] + $robots : $robots;
});
add_action('wp_head', function () {
  foreach (is_singular() ? get_post_meta(get_queried_object_id(), 'hreflang') : [] as $pair) {
    [$language, $path] = explode(' ', $pair);
    printf("<link rel=\"alternate\" hreflang=\"%s\" href=\"%s\">\n", $language, home_url($path));
  }
});
add_action('pre_get_posts', function ($query) {
  if (!$query->is_singular() && !wp_doing_cron() && PHP_SAPI !== 'cli' && !is_sitemap_asked())
    $query->set('post__not_in', array_merge((array) $query->get('post__not_in'), get_option('hidden_posts', [])));
});
function is_sitemap_asked() { return str_contains($_SERVER['REQUEST_URI'] ?? '', 'wp-sitemap'); }
foreach (['get_previous_post_where', 'get_next_post_where'] as $filter)
  add_filter($filter, fn ($where) => $where . ' AND p.ID NOT IN (' . implode(',', array_map('intval', get_option('hidden_posts') ?: [0])) . ')');
add_action('template_redirect', function () {
  if (!str_starts_with($_SERVER['REQUEST_URI'], '/old-shop/')) return;
  status_header(410);
  die('<!doctype html><title>Gone</title><p>The shop has closed.');
}, 1);
