<?php // Installs WordPress with the articles that standard input lists as JSON; prints the paths of all pages.
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = getenv('CMS_HOST');
require getenv('CMS_ROOT') . '/wp-load.php';
foreach (['upgrade', 'taxonomy', 'theme'] as $part) require_once ABSPATH . "wp-admin/includes/$part.php";
function wp_mail() { return true; }
wp_install('Harbour Gazette', 'anna', 'anna@example.com', true, '', 'pw');
kses_remove_filters();
switch_theme('twentytwentyone');
foreach (['posts_per_page' => 10, 'comments_notify' => 0, 'comment_moderation' => 0] as $name => $value) update_option($name, $value);
$GLOBALS['wp_rewrite']->set_permalink_structure('/%year%/%monthnum%/%postname%/');
do_action('init');
flush_rewrite_rules(true);
foreach (get_posts(['post_type' => ['post', 'page'], 'numberposts' => -1, 'post_status' => 'any']) as $post) wp_delete_post($post->ID, true);
$people = [];
foreach (json_decode(stream_get_contents(STDIN), true) as $number => $article) {
  $author = $article['author'];
  $people[$author] ??= wp_insert_user(['user_login' => sanitize_title($author), 'display_name' => $author, 'user_pass' => 'pw',
    'user_email' => sanitize_title($author) . '@example.com', 'role' => 'author']);
  $id = wp_insert_post(['post_status' => 'publish', 'post_type' => $number % 9 == 8 ? 'page' : 'post', 'post_author' => $people[$author], 'post_title' => $article['title'],
    'post_name' => $article['name'], 'post_excerpt' => $article['summary'], 'post_content' => $article['body'], 'post_date' => $article['date'], 'comment_status' => 'open',
    'post_category' => [wp_create_category($article['category'])], 'tags_input' => $article['tags']], true);
  if (is_wp_error($id)) die($id->get_error_message());
  foreach ($article['comments'] as $comment) wp_insert_comment(['comment_post_ID' => $id, 'comment_author' => $comment[0], 'comment_author_email' => 'r@example.com',
    'comment_content' => $comment[1], 'comment_approved' => 1, 'comment_date' => $article['date']]);
}
