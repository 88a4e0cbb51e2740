#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: Scripts/release links and packs the same bytes in two folders; tarball, .deb and .rpm work in a root with nothing but the C library, and leave no trace
# Budget: 420

. Scripts/lib.sh
. Scripts/needed.sh

need gcc
need pkg-config
need cmake
need rpmbuild rpm
need patchelf
folder=$PWD/$OUT/release-trial
version=$(version)
theirs=$(toolchain)
rm -rf "$folder"
mkdir -p "$folder"

# --- Twice. The tool is the one of the other checks, linked with Swift's library in it: an optimised one takes three minutes more.

# What it is made of besides is in the commit.
git ls-files --error-unmatch Tool/Package.resolved >/dev/null || fail "the commit does not say which swift-argument-parser the tool has"
swift build --package-path Tool --force-resolved-versions --static-swift-stdlib --product gcd -j "$JOBS" \
  -Xlinker -l_FoundationCShims -Xlinker -l_FoundationCollections
cp "$(swift build --package-path Tool --show-bin-path)/gcd" "$folder/gcd"
# The library's object is as new as the sources, or is made anew.
newer=$(find Sources/GrandCentral Sources/DispatchABI Sources/CPlatform Sources/CDispatch -type f -newer "$OUT/dropin/GrandCentral.o" \
  2>/dev/null | head -n 1) || true
[ -z "$newer" ] || rm -f "$OUT/dropin/GrandCentral.o"
export GC_RELEASE_TRIAL=$folder/gcd
export GC_HOMEPAGE=https://example.org/somebody/swift-grand-central GC_MAINTAINER='Somebody <somebody@example.org>'
# A file that is there already stays, and is none of this version's.
mkdir "$folder/one"
printf 'of another version\n' >"$folder/one/grandcentral-0.0.9.tar.gz"
(cd "$folder" && "$OLDPWD/Scripts/release" "$version" one)
[ -e "$folder/one/grandcentral-0.0.9.tar.gz" ] || fail "the release has removed what another one has made"
# The second time in a folder of another name, which has the same files, and what Swift has made in the first.
elsewhere=$folder/elsewhere/of-a-longer-name
mkdir -p "$elsewhere/$OUT/dropin" "$elsewhere/Tool/.build/checkouts/swift-argument-parser" "$folder/made"
git ls-files -z --cached --others --exclude-standard --deduplicate |
  tar --null --files-from - --create | tar --extract --no-same-owner --directory "$elsewhere"
git init -q "$elsewhere"
cp "$OUT/dropin/GrandCentral.o" "$elsewhere/$OUT/dropin/"
cp Tool/.build/checkouts/swift-argument-parser/LICENSE.txt "$elsewhere/Tool/.build/checkouts/swift-argument-parser/"
cp "$folder/gcd" "$OUT/dropin-simulation/release/libdispatch.so" "$folder/made/"
(cd "$elsewhere" && GC_RELEASE_TRIAL=$folder/made/gcd privately Scripts/release "$version" "$folder/two" >/dev/null)
diff "$folder/one/SHA256SUMS" "$folder/two/SHA256SUMS" || fail "twice the same, and other bytes: the folder or the umask may be the difference"
(cd "$folder/one" && sha256sum --check --quiet SHA256SUMS)
# Nothing in it tells the folder that it was built in. Planted: a library that does.
tell() { grep -rlaF "$(pwd -P)" "$1" --exclude-dir=doc || true; }
made=$OUT/release/grandcentral-$version-linux-$(uname -m)
[ -x "$made/bin/gcd" ] || fail "no gcd in $made"
told=$(tell "$made")
[ -z "$told" ] || fail "these tell where they were built: $told"
mkdir "$folder/told"
printf '\0%s/Sources/planted.c\0' "$(pwd -P)" >"$folder/told/libplanted.so"
[ -n "$(tell "$folder/told")" ] || fail "a library that tells where it was built was planted, and not found"
# A version that is not the tree's is refused.
if Scripts/release 99.0.0 "$folder/none" 2>"$folder/said"; then fail "a version that is not the tree's was released"; fi
grep -F "is of version $version, not 99.0.0" "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
# So is a tree with a change that is in no version yet, in a release that is no trial: a planted one.
planted=$folder/planted-change
mkdir -p "$planted/Scripts" "$planted/Sources/CPlatform/include"
cp Scripts/{release,lib.sh,embedded.sh,needed.sh} "$planted/Scripts/"
cp Sources/CPlatform/include/CPlatformVersion.h "$planted/Sources/CPlatform/include/"
printf '## [Unreleased]\n\n### Fixed\n\n- Planted.\n\n## [%s] - 2026-11-30\n' "$version" >"$planted/CHANGELOG.md"
if GC_RELEASE_TRIAL='' "$planted/Scripts/release" "$version" "$folder/none" 2>"$folder/said"; then fail "changes of no version were released"; fi
grep -F 'CHANGELOG.md has 1 changes that it says are in no version yet' "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
# So is a planted suffix, which packages cannot have.
sed 's/^#define GC_VERSION "[^"]*/&-rc.1/' Sources/CPlatform/include/CPlatformVersion.h >"$folder/suffix.h"
if (version_in "$folder/suffix.h") 2>"$folder/said"; then fail "a version with a suffix is taken"; fi
grep -F "no version of three numbers in suffix.h: $version-rc.1" "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
# A planted difference is found.
printf . >>"$folder/two/grandcentral-$version.spdx.json"
if (cd "$folder/two" && sha256sum --check --status SHA256SUMS); then fail "a changed file has the sum of the old one"; fi
fact "$(wc -l <"$folder/one/SHA256SUMS") artefacts, linked and packed in two folders to the same bytes"

python3 - "$folder/one/grandcentral-$version.spdx.json" "$version" <<'END'
import json, sys

document = json.load(open(sys.argv[1]))
names = {package["name"]: package["versionInfo"] for package in document["packages"]}
assert names["grandcentral"] == sys.argv[2] and {"swift", "swift-argument-parser"} < set(names), names
files = {file["fileName"] for file in document["files"]}
assert {"./bin/gcd", "./lib/grandcentral/libdispatch.so", "./lib/grandcentral/sim/libswiftCore.so", "./include/grandcentral/dispatch/queue.h"} < files, files
END

# The owner's two settings are in the packages; and no document has the word that stands for the address.
dpkg-deb --field "$folder/one"/*.deb Homepage Maintainer | grep -cF -e "Homepage: $GC_HOMEPAGE" -e "Maintainer: $GC_MAINTAINER" | grep -x 2 >/dev/null ||
  fail "the .deb names another address or maintainer"
# By what is in it, the archive's root left out: the same on each file system.
size=$(dpkg-deb --fsys-tarfile "$folder/one"/*.deb | tar --list --verbose |
  awk 'NR > 1 { sum += /^-/ ? int(($3 + 1023) / 1024) : 1 } END { print sum }')
[ "$(dpkg-deb --field "$folder/one"/*.deb Installed-Size)" = "$size" ] || fail "the .deb has another size than its $size KiB"
[ "$(rpm --query --package --nosignature --queryformat '%{URL} %{PACKAGER}' "$folder/one"/*.rpm)" = "$GC_HOMEPAGE $GC_MAINTAINER" ] ||
  fail "the .rpm names another address or maintainer"
grep -F "\"downloadLocation\": \"$GC_HOMEPAGE\"" "$folder/one"/*.spdx.json >/dev/null || fail "the bill of materials names another address"

# Swift's library needs both; and of a library that nothing is known to have both say so.
depends=$(dpkg-deb --field "$folder/one"/*.deb Depends)
[[ $depends =~ ^'libc6 (>= '[0-9.]+'), libgcc-s1, libstdc++6'$ ]] || fail "the .deb depends on $depends"
depends=$(rpm --query --package --nosignature --requires "$folder/one"/*.rpm | grep -v '^rpmlib(\|^/' | sort | paste -sd ' ')
[[ $depends =~ ^'glibc >= '[0-9.]+' libgcc libstdc++'$ ]] || fail "the .rpm requires $depends"
mkdir "$folder/planted"
cp "$theirs/linux/libBlocksRuntime.so" "$folder/planted/"
patchelf --add-needed libstrange.so.1 "$folder/planted/libBlocksRuntime.so"
for system in debian red-hat; do
  if (packages_of "$system" "$folder/planted") 2>"$folder/said"; then fail "a library was planted that no package of $system has"; fi
  grep -F 'libstrange.so.1 is needed' "$folder/said" >/dev/null || fail "$(cat "$folder/said")"
done

# documents FOLDER: the installed documents lead to files that are there, and name the address.
documents() {
  python3 - "$1" <<'END'
import pathlib, re, sys

folder = pathlib.Path(sys.argv[1])
links, gone, unnamed = 0, [], []
for page in sorted(folder.rglob("*.md")):
    text = page.read_text(encoding="utf-8")
    if "ADDRESS/" in text:
        unnamed.append(str(page))
    # What stands in code leads nowhere.
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for link in {link.split("#")[0] for link in re.findall(r"\]\(([^):]+)\)", text)} - {""}:
        links += 1
        if not (page.parent / link).exists():
            gone.append(f"{page}: {link}")
sys.exit(f"error: {links} links; these lead nowhere: {gone}, without the address: {unnamed}" if gone or unnamed or links < 100 else 0)
END
}

# --- A root with the C library and nothing else, in which a package is put, tried and removed.

first_block README.md c dispatch >"$folder/first.c"
first_block Documentation/MovingFromLibdispatchInC.md c dispatch >"$folder/second.c"
# Built for the toolchain's library, which it finds nowhere in that root.
clang -I "$theirs" -I "$theirs/Block" "$folder/first.c" -L "$theirs/linux" -ldispatch -o "$folder/existing"
cat >"$folder/first.swift" <<'END'
import Dispatch
import Glibc

nonisolated(unsafe) var sum = 0
let queue = DispatchQueue(label: "first")
let group = DispatchGroup()
for number in 1...100 { queue.async(group: group) { sum += number } }
group.notify(queue: .main) {
  print("sum \(sum)")
  exit(0)
}
dispatchMain()
END
swiftc -swift-version 6 "$folder/first.swift" -o "$folder/first-swift"

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)

# new_root FOLDER: the libraries that a system has anyway, where they lie there, and two programs to try.
new_root() {
  local library
  mkdir -p "$1/tmp" "$1/proc" "$1/dev" "$1/usr/bin"
  touch "$1/dev/null" "$1/usr/bin/others"
  ldd "$folder/gcd" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$1$(dirname "$library")"
    cp -L "$library" "$1$library"
  done
  cp "$folder/existing" "$1/tmp/"
}
# inside ROOT COMMAND...
inside() {
  # shellcheck disable=SC2016 # For the shell that is in there.
  unshare --map-root-user --mount --pid --fork --mount-proc="$1/proc" \
    bash -c 'mount --bind /dev/null "$1/dev/null" && exec chroot "$@"' bash "$@"
}
closed=yes
unshare --map-root-user --mount --pid --fork --mount-proc true 2>/dev/null || closed=''
[ -n "$closed" ] || fact "this machine permits no namespaces: nothing is tried inside of the roots"
# Files, and folders of ours; those that packages share belong to the system's own.
listing() { (cd "$1" && find . \( -path ./var/lib/dpkg -o -path ./var/lib/rpm \) -prune -o \( ! -type d -o -path '*grandcentral*' \) -print | sort); }

# try ROOT PREFIX LIB: PREFIX is seen from inside the root.
try() {
  local root=$1 prefix=$1$2 lib=$1$2/$3 flags
  if [ -n "$closed" ]; then
    [ "$(inside "$root" "$2/bin/gcd" --version)" = "$version" ] || fail "gcd does not say its version in the root"
    [ "$(inside "$root" "$2/bin/gcd" run -- /tmp/existing)" = 'sum 5050' ] || fail "gcd run finds no library in the root"
    inside "$root" "$2/bin/gcd" sim --check --runs 3 -- /tmp/existing 2>"$folder/said" || fail "gcd sim in the root: $(cat "$folder/said")"
    # Nothing stands where the system's own library is looked for.
    if inside "$root" /tmp/existing >/dev/null 2>&1; then fail "the system's libdispatch has been taken over"; fi
  fi
  [ ! -e "$lib/libdispatch.so" ] || fail "a libdispatch.so lies where the system's would"
  # A program of one's own, by pkg-config and by CMake; its library is asked for by the versioned name.
  export PKG_CONFIG_PATH=$lib/pkgconfig
  [ "$(pkg-config --modversion grandcentral)" = "$version" ] || fail "pkg-config tells another version"
  read -ra flags <<<"$(pkg-config --cflags --libs grandcentral)"
  gcc "$folder/first.c" "${flags[@]}" -o "$folder/first"
  readelf -d "$folder/first" | grep -F 'NEEDED' | grep -F '[libgrandcentral.so.0]' >/dev/null || fail "it needs no versioned library"
  cp "$folder/first" "$root/tmp/"
  if [ -n "$closed" ]; then
    [ "$(LD_LIBRARY_PATH=$2/$3 inside "$root" /tmp/first)" = 'sum 5050' ] || fail "the first program in C says something else in the root"
  fi
  [ "$(LD_LIBRARY_PATH=$lib "$folder/first")" = 'sum 5050' ] || fail "the first program in C says something else"
  rm -rf "$folder/cmake"
  mkdir "$folder/cmake"
  cp "$folder/second.c" "$folder/cmake/"
  # As by /lib, where that is a link to usr/lib.
  ln -s "$lib" "$folder/cmake/lib"
  cat >"$folder/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(second C)
find_package(grandcentral ${version%.*} REQUIRED)
add_executable(second second.c)
target_link_libraries(second grandcentral::grandcentral)
END
  cmake -S "$folder/cmake" -B "$folder/cmake/build" -Dgrandcentral_DIR="$folder/cmake/lib/cmake/grandcentral" >"$folder/said" || fail "$(cat "$folder/said")"
  cmake --build "$folder/cmake/build" >"$folder/said" || fail "$(cat "$folder/said")"
  [ "$("$folder/cmake/build/second")" = 'sum 5050' ] || fail "the program that CMake has built says something else"
  # A Swift program that knows nothing of ours, by the tool that has been installed.
  [ "$("$prefix/bin/gcd" run -- "$folder/first-swift")" = 'sum 5050' ] || fail "the first program in Swift says something else"
  [[ $("$prefix/bin/gcd" doctor "$folder/first-swift") == *"$prefix/lib/grandcentral/libdispatch.so"* ]] ||
    fail "gcd doctor finds another library"
  [[ $(LD_LIBRARY_PATH=$lib "$prefix/bin/gcd" doctor "$folder/first") == *"$lib/libgrandcentral.so.0 (GrandCentral's)"*'built for this library'* ]] ||
    fail "gcd doctor does not know a program that is built for the library"
  man -l "$prefix/share/man/man1/gcd.1.gz" >/dev/null 2>&1 || zcat "$prefix/share/man/man1/gcd.1.gz" | grep '^\.TH GCD' >/dev/null ||
    fail "there is no manual page"
  bash -n "$prefix/share/bash-completion/completions/gcd"
  [ -s "$prefix/share/doc/grandcentral/copyright-of-others" ] || fail "the licences are missing"
  documents "$prefix/share/doc/grandcentral"
  rm -f "$root/tmp/first"
}

# removed ROOT BEFORE WHAT
removed() {
  listing "$1" >"$folder/after"
  diff "$2" "$folder/after" || fail "$3 leaves something behind"
}

root=$folder/tarball
new_root "$root"
mkdir "$root/opt"
listing "$root" >"$folder/before"
tar --extract --gzip --directory "$root/opt" --file "$folder/one/grandcentral-$version-linux-$(uname -m).tar.gz"
try "$root" "/opt/grandcentral-$version-linux-$(uname -m)" lib
rm -r "$root/opt/grandcentral-$version-linux-$(uname -m)"
removed "$root" "$folder/before" "the tarball"
fact "the tarball works where it is unpacked"

root=$folder/deb
new_root "$root"
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
debian() { "${as_root[@]}" dpkg --root="$root" --force-depends --log=/dev/null "$@" >"$folder/said" 2>&1 || fail "dpkg $*: $(cat "$folder/said")"; }
listing "$root" >"$folder/before"
debian --install "$folder/one"/*.deb
try "$root" /usr lib
debian --purge grandcentral
removed "$root" "$folder/before" "the .deb"
fact "the .deb: installed by dpkg, tried, and purged without a trace"

root=$folder/rpm
new_root "$root"
listing "$root" >"$folder/before"
# The scripts call ldconfig, which that root does not have.
red_hat() { "${as_root[@]}" rpm --root="$root" --dbpath /var/lib/rpm --nodeps --noscripts --nosignature "$@" >"$folder/said" 2>&1 || fail "rpm $*: $(cat "$folder/said")"; }
red_hat --install "$folder/one"/*.rpm
try "$root" /usr lib64
red_hat --erase grandcentral
removed "$root" "$folder/before" "the .rpm"
fact "the .rpm: installed by rpm, tried, and erased without a trace"
