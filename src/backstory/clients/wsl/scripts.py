"""What runs inside a distribution: small scripts of `sh`, so that owner, mode and rename are those of its own files."""

from __future__ import annotations

CHANGED, LOCKED, TORN = 75, 73, 74
"""Exit codes of `WRITE`: the file is not what it was, another writer has the lock, not all bytes arrived."""

PROBE = """\
home=$HOME
printf 'home=%s\\0' "$home"
@name@=${@variable@:-$home/@folder@}
[ -d "$@name@" ] && printf '@name@_home=%s\\0' "$@name@"
drive=$(wslpath -u 'C:\\' 2>/dev/null) && printf 'drive=%s\\0' "$drive"
exit 0
"""

READ = """\
for path do
  if [ -f "$path" ] && [ -r "$path" ]; then
    printf 'file %s\\n' "$(wc -c < "$path" | tr -d ' ')"
    cat "$path" || exit 1
  elif [ -e "$path" ]; then
    printf 'denied\\n'
  else
    printf 'absent\\n'
  fi
done
"""

WRITE = """\
set -u
path=$1 mode=$2 expected=$3 new=$4 locks=$5
held= temporary= staging=
token=$$.$(date +%s)000.backstory
lock=$path.lock
leave() {
  [ -n "$temporary" ] && rm -f "$temporary"
  [ -n "$staging" ] && rm -rf "$staging"
  if [ -n "$held" ]; then rm -f "$lock/owner.$token"; rmdir "$lock" 2>/dev/null; fi
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
sum() { if [ -f "$1" ]; then sha256sum < "$1" | cut -d ' ' -f 1; else echo absent; fi; }
mkdir -p "$(dirname "$path")" || exit 1
if [ "$locks" = lock ]; then
  since=$(date +%s)
  while [ -z "$held" ]; do
    staging=$lock.tmp.$token
    mkdir "$staging" && printf %s "$token" > "$staging/owner.$token" || exit 1
    if mv -T "$staging" "$lock" 2>/dev/null; then
      held=yes staging=
    else
      rm -rf "$staging"
      now=$(date +%s)
      [ $((now - since)) -gt 10 ] && exit 73
      if [ $((now - $(stat -c %Y "$lock" 2>/dev/null || echo "$now"))) -ge 10 ]; then
        mv -T "$lock" "$lock.stale.$token" 2>/dev/null && rm -rf "$lock.stale.$token"
      fi
      sleep 0.1 2>/dev/null || sleep 1
    fi
  done
fi
target=$path
[ -L "$path" ] && target=$(readlink -f "$path")
[ "$(sum "$target")" = "$expected" ] || exit 75
temporary=$(mktemp "$(dirname "$target")/.backstory.XXXXXX") || exit 1
cat > "$temporary" || exit 1
[ "$(sum "$temporary")" = "$new" ] || exit 74
if [ -f "$target" ] && [ "$mode" = keep ]; then mode=$(stat -c %a "$target"); fi
[ "$mode" = keep ] && mode=644
chmod "$mode" "$temporary" || exit 1
mv -f "$temporary" "$target" || exit 1
temporary=
"""

DELETE = """\
path=$1 expected=$2
[ -f "$path" ] || exit 0
[ "$(sha256sum < "$path" | cut -d ' ' -f 1)" = "$expected" ] || exit 75
rm -f "$path"
"""


def probe(name: str, variable: str, folder: str) -> str:
    """The script that says where a client's own folder is; it is named only when it exists."""
    return PROBE.replace("@name@", name).replace("@variable@", variable).replace("@folder@", folder)
