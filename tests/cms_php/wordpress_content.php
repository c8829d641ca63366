<?php // Installs WordPress, and makes the Harbour Gazette: four years of posts, its pages, and the troubles of a real site.
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = getenv('CMS_HOST');
require getenv('CMS_ROOT') . '/wp-load.php';
foreach (['upgrade', 'image', 'taxonomy', 'theme'] as $part) require_once ABSPATH . "wp-admin/includes/$part.php";
function wp_mail() { return true; }
wp_install('Harbour Gazette', 'anna', 'anna@example.com', true, '', 'pw');
mt_srand(7);
kses_remove_filters();
switch_theme('twentytwentyone');
foreach (['page_comments' => 1, 'comments_per_page' => 5, 'thread_comments' => 1, 'default_comments_page' => 'oldest', 'comment_moderation' => 0,
  'posts_per_page' => 10, 'comments_notify' => 0, 'timezone_string' => 'Europe/Berlin'] as $name => $value) update_option($name, $value);
$GLOBALS['wp_rewrite']->set_permalink_structure('/%year%/%monthnum%/%postname%/');
do_action('init');
flush_rewrite_rules(true);
foreach (get_posts(['post_type' => ['post', 'page'], 'numberposts' => -1, 'post_status' => 'any']) as $post) wp_delete_post($post->ID, true);
$people = [1];
foreach (['bert', 'clara'] as $name) // clara has written nothing
  $people[] = wp_insert_user(['user_login' => $name, 'user_pass' => 'pw', 'user_email' => "$name@example.com", 'role' => 'author']);
$words = explode(' ', 'the old pier keeps its boats and the wind brings salt over every roof while nets dry on the wall and gulls wait for the ferry that comes at noon with mail and bread from town across the sound where lamps burn late');
function prose($paragraphs) {
  global $words;
  $said = '';
  for ($i = 0; $i < $paragraphs; $i++) {
    $said .= '<p>';
    for ($k = 0; $k < 40; $k++) $said .= $words[mt_rand(0, count($words) - 1)] . ' ';
    $said .= "</p>\n";
  }
  return $said;
}
function made($fields) {
  $date = $fields['post_date'] ?? '2025-03-0' . mt_rand(1, 9) . ' 10:00:00';
  $id = wp_insert_post($fields + ['post_status' => 'publish', 'post_author' => 1, 'post_date' => $date, 'comment_status' => 'closed', 'post_content' => prose(2)], true);
  if (is_wp_error($id)) die($id->get_error_message());
  global $wpdb; // written once, when it was published
  $wpdb->update($wpdb->posts, ['post_modified' => $date, 'post_modified_gmt' => get_gmt_from_date($date)], ['ID' => $id]);
  return $id;
}
function page($name, $body = '', $parent = 0, $meta = []) {
  return made(['post_type' => 'page', 'post_name' => $name, 'post_title' => ucfirst(str_replace('-', ' ', $name)), 'post_content' => prose(2) . $body,
    'post_parent' => $parent, 'meta_input' => $meta]);
}
$categories = [];
foreach (['Harbour', 'Ships', 'Fish', 'Weather', 'Culture'] as $name) $categories[] = wp_create_category($name);
$categories[] = wp_create_category('Rowing', $categories[1]);
wp_create_category('Retired column'); // without posts
$tags = ['rope', 'tide', 'gull', 'lamp', 'mast', 'anchor', 'net', 'fog', 'keel', 'buoy', 'dock', 'crane'];
$kinds = ['Ferry', 'Storm', 'Catch', 'Light', 'Race', 'Market', 'Choir', 'Dredger', 'Seal', 'Regatta'];
[$start, $end, $count] = [strtotime('2023-01-09 09:00'), strtotime('2026-10-18 09:00'), (int) getenv('CMS_POSTS')];
$posts = [];
for ($i = 0; $i < $count; $i++) {
  $body = prose(3);
  if ($i % 9 == 8) $body .= '<p>See <a href="' . get_permalink($posts[$i - 5]) . '">an earlier report</a>.</p>';
  if ($i % 50 == 7) $body .= '<p>And <a href="/?p=' . $posts[$i - 3] . '">another</a>, <a href="' . rtrim(get_permalink($posts[$i - 4]), '/') . '">one more</a>, <a href="'
    . get_permalink($posts[$i - 2]) . '?utm_source=blog&amp;utm_medium=link">a third</a>.</p>';
  $posts[] = made(['post_title' => "{$kinds[$i % 10]} report " . ($i + 1), 'post_name' => strtolower($kinds[$i % 10]) . '-report-' . ($i + 1), 'post_content' => $body,
    'post_author' => $people[$i % 2], 'post_date' => gmdate('Y-m-d H:i:s', $start + intdiv(($end - $start) * $i, $count)), 'comment_status' => 'open',
    'post_category' => [$categories[$i % 6]], 'tags_input' => [$tags[$i % 12], $tags[($i * 5 + 1) % 12]]]);
}
for ($i = 0; $i < 17; $i++) wp_insert_comment(['comment_post_ID' => $posts[$i < 13 ? 40 : $i], 'comment_author' => "Reader $i", 'comment_author_email' => "r$i@example.com",
  'comment_content' => "I saw it too, number $i.", 'comment_approved' => 1, 'comment_date' => sprintf('2026-10-%02d 10:00:00', $i + 1)]);
stick_post($posts[10]);
stick_post($posts[20]);
$menu = ['about' => page('about', '<p>Read our <a href="/history/">history</a> and meet the <a href="/about/staff/">staff</a>.</p>')];
foreach ([
  'contact' => '<p><a rel="nofollow" href="/advertise/">Advertise with us</a>.</p>',
  'timetable' => '<p>In winter the <a href="' . home_url('/timetable/winter/') . '">winter timetable</a> holds, in summer the <a href="/timetable/summer">summer timetable</a>.</p>',
  'subscribe' => '<p><a href="/pricing/?ref=subscribe">Prices</a>, <a href="http://' . str_replace('www.', '', getenv('CMS_HOST')) . '/vouchers/">vouchers</a>.</p>',
  'imprint' => '<p><a href="/legal-detail/">Legal detail</a></p>',
  'english' => '', 'deutsch' => '',
] as $name => $body) $menu[$name] = page($name, $body, 0, $name == 'imprint' ? ['noindex' => 1] : []);
foreach ([['english', 'en /english/'], ['english', 'de /deutsch/'], ['deutsch', 'de /deutsch/']] as [$name, $pair]) add_post_meta($menu[$name], 'hreflang', $pair); // one way only
page('history');
page('staff', '', $menu['about']);
page('winter', '', $menu['timetable']);
page('summer', '', $menu['timetable']);
foreach (['legal-detail', 'advertise', 'pricing', 'vouchers', 'press-kit', 'thank-you'] as $name) page($name);
page('partners', '<p><a href="/partner-terms/">Terms</a></p>');
page('partner-terms', '<p><a href="/partners/">Partners</a></p>');
page('jobs');
page('intern');
made(['post_title' => 'Unfinished story', 'post_name' => 'unfinished-story', 'post_status' => 'draft', 'post_content' => '<a href="/jobs/">Jobs</a>']);
made(['post_title' => 'Private minutes', 'post_name' => 'private-minutes', 'post_status' => 'private']);
made(['post_title' => 'Tomorrow', 'post_name' => 'tomorrow', 'post_status' => 'future', 'post_date' => '2031-01-01 10:00:00']);
made(['post_title' => 'For members', 'post_name' => 'for-members', 'post_password' => 'sesame', 'post_category' => [$categories[4]]]);
made(['post_title' => 'Kept note', 'post_name' => 'kept-note', 'meta_input' => ['noindex' => 1], 'post_category' => [$categories[4]]]);
made(['post_title' => 'Long voyage', 'post_name' => 'long-voyage', 'post_category' => [$categories[1]], 'post_content' => prose(2) . '<!--nextpage-->' . prose(2) . '<!--nextpage-->' . prose(1)]);
update_option('hidden_posts', [made(['post_title' => 'Hidden harvest', 'post_name' => 'hidden-harvest', 'post_category' => [$categories[2]]])]);
$going = [];
foreach (['closed-bridge', 'lost-parcel'] as $name) $going[] = made(['post_title' => $name, 'post_name' => $name, 'post_category' => [$categories[3]]]);
$renamed = made(['post_title' => 'New pier', 'post_name' => 'new-peer', 'post_category' => [$categories[0]]]);
function photo($file, $parent) {
  $image = imagecreatetruecolor(400, 300);
  imagefilledrectangle($image, 20, 20, 200, 200, imagecolorallocate($image, mt_rand(0, 255), 120, 200));
  $path = wp_upload_dir()['path'] . "/$file.jpg";
  imagejpeg($image, $path);
  $id = wp_insert_attachment(['post_mime_type' => 'image/jpeg', 'post_title' => $file, 'post_status' => 'inherit', 'post_author' => 1], $path, $parent);
  wp_update_attachment_metadata($id, wp_generate_attachment_metadata($id, $path));
  return $id;
}
function more($id, $body) { // straight into the table: the date of the post stays
  global $wpdb;
  $wpdb->query($wpdb->prepare("UPDATE $wpdb->posts SET post_content = CONCAT(post_content, %s) WHERE ID = %d", $body, $id));
  clean_post_cache($id);
}
$photos = [photo('pier', $posts[30]), photo('gulls', $posts[31]), photo('lost', $posts[32]), photo('loose', 0)];
more($posts[30], '<p><a href="' . get_permalink($photos[0]) . '">' . wp_get_attachment_image($photos[0], 'medium') . '</a></p>'); // links its page
more($posts[31], '<p><a href="' . wp_get_attachment_url($photos[1]) . '">' . wp_get_attachment_image($photos[1], 'medium') . '</a></p>'); // links the file
more($posts[32], '<p>' . wp_get_attachment_image($photos[2], 'full') . '</p>');
more($posts[20], '<p>See <a href="/2025/03/closed-bridge/">the bridge</a>, <a href="/2025/03/new-peer/">the pier</a>, <a href="/old-shop/">our shop</a>, <a href="/never-was/">this</a>.</p>');
$number = wp_create_nav_menu('Main');
foreach ($menu as $id) wp_update_nav_menu_item($number, 0, ['menu-item-object-id' => $id, 'menu-item-object' => 'page', 'menu-item-type' => 'post_type', 'menu-item-status' => 'publish']);
set_theme_mod('nav_menu_locations', ['primary' => $number]);
echo json_encode(['posts' => array_map('get_permalink', $posts), 'going' => $going, 'renamed' => $renamed, 'lost' => get_attached_file($photos[2]),
  'ids' => $posts, 'categories' => $categories]);
