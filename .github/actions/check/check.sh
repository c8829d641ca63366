#!/bin/bash
# Checks a folder of built pages. The action beside it runs this, with SITE, FOLDER, STATE, FAIL_ON, ACCEPTED, GONE, PUBLISHED.
set -uo pipefail
report=$RUNNER_TEMP/siteatlas-report
: "${PUBLISHED:=${SITE%/*}/sitemap.xml}"
before=$RUNNER_TEMP/siteatlas-published.sqlite
code=0

# section TITLE COMMAND...: runs a command, and puts what it prints into the log and the summary of the job
section() {
  local printed ended
  printed=$("${@:2}" 2>&1)
  ended=$?
  printf '%s\n%s\n' "== $1" "$printed"
  printf '### %s\n\n```text\n%s\n```\n\n' "$1" "${printed//\`\`\`/}" >> "$GITHUB_STEP_SUMMARY"
  return $ended
}

fail() {
  echo "::error::$1"
  code=1
}

fail_on=()
if siteatlas export -o "$before" --state "$STATE" > /dev/null 2>&1; then
  fail_on=(--fail-on "$FAIL_ON")
else
  echo "::notice::This is the first build that Siteatlas checks, so no finding is new."
fi

# The build is what will be published, so pages may leave the sitemap: urls check names those that are lost.
section "What this build publishes" siteatlas crawl "$SITE" --source "$FOLDER" -o "$RUNNER_TEMP/siteatlas-sitemap" \
  --state "$STATE" --accept-shrink --replace || { fail "The build cannot be crawled."; exit $code; }
# This is the only request that leaves the machine. A host that does not answer fails no build.
timeout 60 siteatlas urls import "$PUBLISHED" --state "$STATE" ||
  echo "::notice::$PUBLISHED cannot be read now. The URLs of earlier builds are checked."
while read -r pattern; do
  [ -z "$pattern" ] || siteatlas urls accept "$pattern" --reason "the workflow names it" --state "$STATE" || true
done <<< "$GONE"
section "Lost URLs" siteatlas urls check --folder "$FOLDER" --state "$STATE" ||
  fail "Published URLs are lost. Redirect them in $FOLDER/_redirects, or name them in gone."

section "Findings" siteatlas audit "$SITE" --source "$FOLDER" -o "$report" --state "$STATE" "${fail_on[@]}" \
  ${ACCEPTED:+--accepted "$ACCEPTED"} --set audit.trust_blocked=true  # a link to a blocked page would leave each orphan inconclusive
case $? in
  0) ;;
  4) echo "::notice::Some findings are inconclusive." ;;
  10) fail "The build has findings that --fail-on $FAIL_ON selects." ;;
  *) fail "The audit failed." ;;
esac
if [ -e "$before" ]; then
  section "Compared with what is published" siteatlas compare "$before" "$STATE" || fail "The comparison failed."
fi
echo "sarif=$report/audit.sarif" >> "$GITHUB_OUTPUT"
echo "report=$report" >> "$GITHUB_OUTPUT"
exit $code
