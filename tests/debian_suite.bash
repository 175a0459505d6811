# Packages of Debian's suites, other than this system's, too: downloaded and unpacked, never
# installed. To be sourced.
#   DEBIAN_MIRROR    http://deb.debian.org; below it /debian and /debian-security
#   DEBIAN_ARCH      amd64, or arm64: whose packages

: "${DEBIAN_MIRROR:=http://deb.debian.org}"
: "${DEBIAN_ARCH:=amd64}"

# apt-get or apt-cache with package lists and a cache of their own, and nothing of what is installed
# here.
private_apt() { # FOLDER COMMAND [OPTION...]
	local apt=$1 command=$2
	shift 2
	"$command" -qq -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
		-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Acquire::Check-Valid-Until=false -o "APT::Architecture=$DEBIAN_ARCH" -o "APT::Architectures=$DEBIAN_ARCH" -o APT::Sandbox::User= "$@"
}

prepare_apt() { # FOLDER SUITE
	local apt=$1 suite=$2 signed="[arch=$DEBIAN_ARCH signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	echo "deb $signed $DEBIAN_MIRROR/debian $suite main" >"$apt/sources.list"
	[[ $suite == sid ]] ||
		echo "deb $signed $DEBIAN_MIRROR/debian-security $suite-security main" >>"$apt/sources.list"
	private_apt "$apt" apt-get -o Acquire::Languages=none -o APT::Update::Error-Mode=any update
}

# Makes links to absolute paths relative: outside of a chroot they lead into this system. A linker
# that misses libm.so's library that way takes libm.a instead.
links_within() { # ROOT
	local root=$1 link target
	find "$root" -type l -lname '/*' -printf '%P\t%l\n' |
		while IFS=$'\t' read -r link target; do
			ln -snf "$(realpath -ms --relative-to="$(dirname "$root/$link")" "$root$target")" "$root/$link"
		done
}

# A system for chroot with these packages and all that they need; what maintainers' scripts do is
# not done. Made once: a folder that is there is taken as it is.
debian_root() { # FOLDER SUITE PACKAGE...
	local root=$1 suite=$2 apt=$1.apt folder deb
	shift 2
	[[ ! -d $root ]] || return 0
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "no apt-get here" >&2
		return 1
	fi
	rm -rf "$root.part"
	prepare_apt "$apt" "$suite" || return
	private_apt "$apt" apt-get --no-install-recommends --download-only -y install "$@" >&2 || return
	for folder in bin sbin lib lib64; do
		mkdir -p "$root.part/usr/$folder"
		ln -s "usr/$folder" "$root.part/$folder"
	done
	for deb in "$apt"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root.part" --keep-directory-symlink || return
	done
	mkdir -p "$root.part"/{proc,dev,tmp}
	links_within "$root.part"
	rm -rf "$apt"
	mv "$root.part" "$root"
}

# Writes a program that runs one of such a system's, by chroot, and takes its arguments. The files that
# it may be given, of the folder where it is started and of the tests, are where they are outside.
debian_wrapper() { # FILE ROOT PROGRAM
	cat >"$1" <<-SH
		#!/bin/sh
		exec unshare -m -- sh -c '
			root=\$1 interpreter=\$2
			shift 2
			for folder in "$(dirname "${BASH_SOURCE[0]}")/e2e" "\$PWD"; do
				folder=\$(realpath "\$folder")
				mkdir -p "\$root\$folder"
				mount --bind "\$folder" "\$root\$folder"
			done
			mount --rbind /proc "\$root/proc"
			mount --rbind /dev "\$root/dev"
			exec chroot "\$root" "\$interpreter" "\$@"
		' in_root "$2" "$3" "\$@"
	SH
	chmod +x "$1"
}
