<?php // Makes the Harbour Wiki in one go: pages by the title and the text of a JSON object on stdin, moves, deletions.
require_once '/usr/share/mediawiki/maintenance/Maintenance.php';
class MakeContent extends Maintenance {
  public function execute() {
    $services = MediaWiki\MediaWikiServices::getInstance();
    $user = User::newSystemUser('Maintenance script', ['steal' => true]);
    $asked = json_decode(file_get_contents('php://stdin'), true);
    foreach ($asked['pages'] ?? [] as $name => $text) {
      $page = $services->getWikiPageFactory()->newFromTitle(Title::newFromText($name));
      $status = $page->doUserEditContent(ContentHandler::makeContent($text, $page->getTitle()), $user, 'written', $asked['flags'] ?? 0);
      if (!$status->isOK()) $this->fatalError("$name: $status");
    }
    foreach ($asked['moves'] ?? [] as $from => $to) {
      $status = $services->getMovePageFactory()->newMovePage(Title::newFromText($from), Title::newFromText($to))->move($user, 'moved', true);
      if (!$status->isOK()) $this->fatalError("$from: $status");
    }
    foreach ($asked['deletes'] ?? [] as $name) {
      $page = $services->getWikiPageFactory()->newFromTitle(Title::newFromText($name));
      $services->getDeletePageFactory()->newDeletePage($page, $user)->deleteUnsafe('gone');
    }
  }
}
$maintClass = MakeContent::class;
require_once RUN_MAINTENANCE_IF_MAIN;
