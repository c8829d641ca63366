<?php // One change at a time, as an editor makes it: php wordpress_edit.php WHAT ID [TEXT]
$_SERVER['HTTP_HOST'] = getenv('CMS_HOST');
require getenv('CMS_ROOT') . '/wp-load.php';
[, $what, $id, $text] = $argv + [3 => ''];
kses_remove_filters();
match ($what) {
  'delete' => wp_delete_post($id, true),
  'rename' => wp_update_post(['ID' => $id, 'post_name' => $text]),
  'add' => wp_update_post(['ID' => $id, 'post_content' => get_post($id)->post_content . $text]),
  'publish' => print(get_permalink(wp_insert_post(['post_title' => $text, 'post_content' => "<p>All about $text.</p>", 'post_status' => 'publish', 'post_author' => 1, 'post_category' => [$id]]))),
  'comment' => wp_insert_comment(['comment_post_ID' => $id, 'comment_author' => 'Late reader', 'comment_author_email' => 'l@example.com', 'comment_content' => $text, 'comment_approved' => 1]),
  'touch' => wp_update_post(['ID' => $id]), // saved without a change
};
