# shellcheck shell=bash
# Sourced by the scripts here: Debian's packages, downloaded into the current folder without root.

apt_work=$(mktemp -d)
trap 'rm -rf "$apt_work"' EXIT
cat > "$apt_work/sid.sources" <<'SOURCES'
Types: deb
URIs: http://deb.debian.org/debian
Suites: sid
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES

download() {  # packages of this Debian; with lists of its own, where the system has none
  _apt download "$@" || { _with_lists own update && _with_lists own download "$@"; }
}

download_of_sid() {  # packages of the suite sid
  local sources=(-o "Dir::Etc::sourcelist=$apt_work/sid.sources" -o "Dir::Etc::sourceparts=/dev/null")
  _with_lists sid "${sources[@]}" update && _with_lists sid "${sources[@]}" download "$@"
}

_apt() { timeout 300 apt-get -qq -o APT::Sandbox::User=root "$@"; }

_with_lists() {  # apt-get with the lists and the cache of that name
  local folder=$apt_work/$1
  mkdir -p "$folder"/{lists,archives}/partial
  _apt -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder" "${@:2}"
}
