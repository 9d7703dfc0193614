# shellcheck shell=bash
# Sourced by the scripts here: Debian's packages, downloaded into the current folder without root.

apt_work=$(mktemp -d)
trap 'rm -rf "$apt_work"' EXIT

download() {  # packages of this Debian; with lists of its own, where the system has none
  _apt download "$@" || { _with_lists own update && _with_lists own download "$@"; }
}

download_of_sid() {  # packages of the suite sid, from the mirror that the system takes its packages from
  local mirror sources=(-o "Dir::Etc::sourcelist=$apt_work/sid.list" -o "Dir::Etc::sourceparts=/dev/null")
  mirror=$(_mirror) && [ "$mirror" ] || { echo "The sources of apt name no mirror of Debian." >&2; return 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" > "$apt_work/sid.list"
  _with_lists sid "${sources[@]}" update && _with_lists sid "${sources[@]}" download "$@"
}

_mirror() {  # the first source of the suite that this Debian is
  local codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME") || return
  # shellcheck disable=SC2016  # apt-get replaces these
  apt-get indextargets --format '$(REPO_URI) $(SUITE) $(CODENAME) $(RELEASE)' 2>/dev/null |
    awk -v suite="$codename" '{ for (n = 2; n <= NF; n++) if ($n == suite) { print $1; exit } }'
}

_apt() { timeout 300 apt-get -qq -o APT::Sandbox::User=root "$@"; }

_with_lists() {  # apt-get with the lists and the cache of that name
  local folder=$apt_work/$1
  mkdir -p "$folder"/{lists,archives}/partial
  _apt -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder" "${@:2}"
}
