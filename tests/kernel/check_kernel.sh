#!/bin/bash
# On each of several kernels: ebprof's BPF programs load, they sample, stacks of known shape are
# whole, those of interpreters, too. Kernels are Debian's cloud images, booted by qemu; nothing is installed.
#   tests/kernel/check_kernel.sh [VERSION...]   (5.10 6.1 6.12 sid running), or the path of a bzImage;
#                      of arm64 sid-16k, too: pages of 16 KiB, and addresses of 47 bits
# PROGRAMS=DIR         what `make check-kernel` builds, ebprof among it
# KERNEL_CACHE=DIR     where images are kept, ${XDG_CACHE_HOME:-~/.cache}/ebprof/kernels. They are
#                      downloaded once; remove DIR/sid to have a newer one.
# KERNEL_DEBUG=LIST    of these versions the debug symbols, too, 0.3 GB each: inlined functions and
#                      lines of the kernel are checked where they are in the cache
# KERNEL_MIRROR=URL    http://deb.debian.org; below it /debian and /debian-security
# DEBIAN_ARCH=amd64    or arm64, whose programs `make ARCH=arm64` builds
# Guests need no root, `running` does. The last line is "N passed, M failed, K skipped".
set -euo pipefail

MAX_VERIFIED=100000 # instructions of a program: what we promise; the kernel's limit is 1,000,000
MAX_WHOLE=200000    # ... of one that does what three do elsewhere, for the runtimes of both groups
MIN_SAMPLES=200     # of a shape: five times 600 ms at 199 Hz are 597
MIN_STACKS=20       # of a shape's single stack: 119
: "${MIN_COMPLETE:=97}"    # percent of the stacks
: "${BOOT_SECONDS:=300}" # of a guest, from its start to its end; here about 30

die() { echo "check-kernel: $*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
export DEBIAN_MIRROR=${KERNEL_MIRROR:-http://deb.debian.org}
. "$here/../debian_suite.bash"
. "$here/../dotnet_program.bash"
PROGRAMS=$(realpath -m "${PROGRAMS:-$here/../../build-static/tests/kernel}")
cache=${KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/kernels}
versions=("$@")
# A thread for each emulated CPU; on x86-64 one for both: the kernel patches its code by a breakpoint,
# and a CPU that has translated the breakpoint meanwhile (QEMU 7.2) runs into it when it is long gone.
emulator_threads=multi
case $DEBIAN_ARCH-$(uname -m) in
amd64-x86_64)
	qemu=(qemu-system-x86_64 -M q35 -cpu max) console=ttyS0 arguments=tsc=reliable
	emulator_threads=single
	;;
# The emulated PMU throttles what samples until it is refused; the usual algorithm of pointer
# authentication takes most of the time.
arm64-*) qemu=(qemu-system-aarch64 -M virt -cpu "max,pauth-impdef=on,pmu=off") console=ttyAMA0 arguments= ;;
*) die "knows amd64 and arm64, not $DEBIAN_ARCH on $(uname -m)" ;;
esac
is_native=
[[ $DEBIAN_ARCH-$(uname -m) != @(amd64-x86_64|arm64-aarch64) ]] || is_native=1
[[ $DEBIAN_ARCH == amd64 ]] || cache+=/$DEBIAN_ARCH
[[ ${#versions[@]} -gt 0 ]] || versions=(5.10 6.1 6.12 sid ${is_native:+running})
[[ -x $PROGRAMS/ebprof ]] || die "no $PROGRAMS/ebprof: use make check-kernel"
logs=$PROGRAMS/log
mkdir -p "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-kernel.XXXXXX")
running=
cleanup() {
	[[ -z $running ]] || kill -TERM "$running" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Not longer than BOOT_SECONDS. In the background, since a trap waits for what runs in the foreground.
run_limited() { # COMMAND...
	timeout -k 5 "$BOOT_SECONDS" "$@" </dev/null 2>&1 &
	running=$!
	wait $running || true
	running=
}

passed=0 failed=0 skipped=0
ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok $*"; }
skip() { skipped=$((skipped + 1)); echo "skip $*"; }

# ---- images: from Debian's archive into the cache ----

suite_of() {
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie ;;
	sid | sid-16k) echo sid ;;
	*) return 1 ;;
	esac
}

# The kind of kernel that packages have in their names.
flavour_of() { # VERSION
	case $1 in
	*-16k) echo "$DEBIAN_ARCH-16k" ;;
	*) echo "cloud-$DEBIAN_ARCH" ;;
	esac
}

# The newest image of a suite that can be downloaded: what the package lists name first may be gone.
download_image() { # VERSION FOLDER
	local folder=$2 apt=$2/apt suite flavour package deb image
	suite=$(suite_of "$1")
	flavour=$(flavour_of "$1")
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "no apt-get here"
		return 1
	fi
	prepare_apt "$apt" "$suite" || return
	for package in $(image_packages "$apt" "$1" "$flavour"); do
		(cd "$folder" && rm -f ./*.deb && private_apt "$apt" apt-get download "$package") || continue
		deb=$(ls "$folder"/*.deb)
		image=$(dpkg-deb -c "$deb" | grep -oE '\./[^ ]*/vmlinuz[^ /]*$' || true)
		[[ -n $image ]] || continue
		dpkg-deb --fsys-tarfile "$deb" | tar -x -O "$image" >"$folder/vmlinuz-${package#linux-*-}"
		rm -rf "$apt" "$deb"
		return
	done
	echo "no package of $suite that can be downloaded holds an image of $flavour"
	return 1
}

# Newest first. Debian 14 has images in packages linux-binary-*; 11 has those of Linux 6.1, too, 12 of 6.12.
image_packages() { # APT VERSION FLAVOUR
	local release=${2/sid*/[0-9]}
	private_apt "$1" apt-cache pkgnames linux- | grep -E "^linux-(binary|image)-${release/./[.]}[.][^-].*-$3\$" |
		sort -t - -k 3Vr -k 4Vr -k 2
}

# Finds $image, or says $why not.
find_image() { # VERSION
	local version=$1 suite partial
	if [[ $version == */* ]]; then
		image=$version why="cannot read $version"
		[[ -r $version ]]
		return
	fi
	why="no such kernel, there are 5.10 6.1 6.12 sid running, and of arm64 sid-16k"
	suite=$(suite_of "$version") || return
	image=$(find "$cache/$version" -name 'vmlinuz-*' 2>/dev/null | sort | tail -n 1)
	[[ -z $image ]] || return 0
	echo "downloading the kernel of Debian $suite"
	mkdir -p "$cache"
	partial=$(mktemp -d "$cache/partial.XXXXXX")
	if ! download_image "$version" "$partial" >"$work/download" 2>&1; then
		rm -rf "$partial"
		why="no image in $cache/$version, and none can be downloaded: $(tail -n 3 "$work/download" | tr '\n' ' ')"
		return 1
	fi
	rm -rf "${cache:?}/$version"
	mv "$partial" "$cache/$version"
	image=$(find "$cache/$version" -name 'vmlinuz-*')
}

# The vmlinux of the very build, below a folder that stands for /. Nothing when there is none.
find_debug() { # VERSION RELEASE
	local version=$1 release=$2 folder=$cache/$1/debug partial
	if [[ " ${KERNEL_DEBUG:-} " == *" $version "* && ! -d $folder ]]; then
		partial=$(mktemp -d "$cache/partial.XXXXXX")
		if prepare_apt "$partial/apt" "$(suite_of "$version")" >&2 &&
			(cd "$partial" && private_apt "$partial/apt" apt-get download "linux-image-$release-dbg") >&2 &&
			dpkg-deb --fsys-tarfile "$partial"/*.deb | tar -x -C "$partial" --wildcards '*/boot/vmlinux-*'; then
			rm -rf "$partial"/apt "$partial"/*.deb
			mv "$partial" "$folder"
		else
			rm -rf "$partial"
		fi
	fi
	[[ ! -r $folder/usr/lib/debug/boot/vmlinux-$release ]] || echo "$folder"
}

# ---- guests ----

# A static busybox of the guests' machine.
find_busybox() {
	local busybox partial
	if [[ $is_native ]]; then
		busybox=$(command -v busybox) || die "needs busybox: apt-get install busybox-static"
		ldd "$busybox" >/dev/null 2>&1 && die "needs a static busybox: apt-get install busybox-static"
		echo "$busybox"
		return
	fi
	if [[ ! -e $cache/busybox ]]; then
		mkdir -p "$cache"
		partial=$(mktemp -d "$cache/partial.XXXXXX")
		prepare_apt "$partial/apt" bookworm >&2 &&
			(cd "$partial" && private_apt "$partial/apt" apt-get download busybox-static) >&2 &&
			dpkg-deb --fsys-tarfile "$partial"/*.deb | tar -x -O ./bin/busybox >"$partial/busybox" &&
			mv "$partial/busybox" "$cache/busybox"
		rm -rf "$partial"
	fi
	[[ -s $cache/busybox ]] || die "no busybox for $DEBIAN_ARCH"
	echo "$cache/busybox"
}

# What a program needs of the C library: the files, and below it the folder that stands for /.
libraries_of() { # PROGRAM
	if [[ $is_native ]]; then
		ldd "$1" | grep -oE '/[^ ]+'
	else
		echo /lib/ld-linux-aarch64.so.1
		echo /lib/aarch64-linux-gnu/libc.so.6
	fi
}

# The suite whose interpreters go with a kernel: Debian 11's cannot be had for every machine.
languages_of() { # VERSION
	local suite
	suite=$(suite_of "$1") || suite=bookworm
	[[ $suite != bullseye ]] || suite=bookworm
	echo "$suite"
}

# Interpreters of a suite, below a folder for chroot, with what they need and no more.
add_languages() { # ROOT SUITE
	local from=$cache/languages-$2 to=$1/languages
	debian_root "$from" "$2" libc6 python3-minimal ruby perl-base php-cli lua5.4 ||
		die "no interpreters of $2 for $DEBIAN_ARCH"
	mkdir -p "$to/usr"
	(cd "$from/usr" && tar -c --exclude={share,sbin,games,'gconv','engines-3','perl/5*','debug'} .) | tar -x -C "$to/usr"
	mkdir -p "$to"/{proc,dev,tmp}
	cp -a "$from"/{bin,lib,lib64,sbin} "$to/"
	cp -r "$here/chains" "$to/"
}

# The suite's own Java, without what only other programs need of it.
add_java() { # ROOT SUITE
	local from=$cache/java-$2 to=$1/languages version
	[[ -e $PROGRAMS/Chain.class ]] || return 0
	case $2 in
	bookworm) version=17 ;;
	trixie) version=21 ;;
	*) version=25 ;;
	esac
	debian_root "$from" "$2" "openjdk-$version-jre-headless" || die "no Java of $2 for $DEBIAN_ARCH"
	(cd "$from" && tar -c --exclude={jmods,man,legal,'classes_nocoops*'} usr/lib/jvm etc/java-* \
		usr/lib/*-linux-gnu/{libstdc++.so.6*,libgcc_s.so.1,libz.so.1*}) | tar -x -C "$to"
	cp "$PROGRAMS/Chain.class" "$to/chains/"
}

add_node() { # ROOT SUITE
	local from=$cache/node-$2
	debian_root "$from" "$2" nodejs || die "no Node.js of $2 for $DEBIAN_ARCH"
	(cd "$from" && tar -c usr/bin/node usr/share/nodejs usr/lib/*-linux-gnu/*.so.*) |
		tar -x -C "$1/languages"
}

add_luajit() { # ROOT SUITE
	local from=$cache/luajit-$2
	debian_root "$from" "$2" luajit || die "no LuaJIT of $2 for $DEBIAN_ARCH"
	(cd "$from" && tar -c usr/bin/luajit* usr/lib/*-linux-gnu/libgcc_s.so.1) | tar -x -C "$1/languages"
}

# The suite's own Erlang: the emulator, what it starts, and the modules that it begins with.
add_erlang() { # ROOT SUITE
	local from=$cache/erlang-$2 to=$1/languages
	[[ -e $PROGRAMS/chain.beam ]] || return 0
	debian_root "$from" "$2" erlang-base || die "no Erlang of $2 for $DEBIAN_ARCH"
	# Not all suites have all of these libraries.
	(cd "$from" && shopt -s nullglob && tar -c --exclude={src,include,examples} \
		usr/lib/erlang/{erts-*/bin/{beam.smp,erl_child_setup,inet_gethost},bin/*.boot} \
		usr/lib/erlang/lib/{kernel,stdlib}-*/ebin \
		usr/lib/*-linux-gnu/{libstdc++.so.6*,libgcc_s.so.1,libz.so.1*,libtinfo.so.6*,libatomic.so.1*}) | tar -x -C "$to"
	cp "$PROGRAMS/chain.beam" "$to/chains/"
}

# .NET comes from NuGet, whatever the suite: the program's own, without libraries that it does not use.
add_dotnet() { # ROOT SUITE
	local dotnet=10.0.15 to=$1/languages library=$cache/libstdc++-$2 why runtime=linux-x64
	local from=$cache/dotnet-$dotnet
	[[ $DEBIAN_ARCH != arm64 ]] || runtime=linux-arm64
	command -v dotnet >/dev/null || return 0
	why=$(DOTNET_SOURCE=$here/chains/chain.cs DOTNET_RUNTIME=$runtime dotnet_program "$from" net10.0 $dotnet \
		-p:DisableTransitiveFrameworkReferenceDownloads=true) ||
		die "no program of .NET for $DEBIAN_ARCH: $why"
	debian_root "$library" "$2" libstdc++6 || die "no libstdc++ of $2 for $DEBIAN_ARCH"
	(cd "$library" && tar -c usr/lib/*-linux-gnu/{libstdc++.so.6*,libgcc_s.so.1}) | tar -x -C "$to"
	mkdir -p "$to/dotnet"
	cp "$from"/out/{shape,shape.dll,shape.runtimeconfig.json,libcoreclr.so,libclrjit.so,libhostfxr.so,libhostpolicy.so} \
		"$from"/out/{libSystem.Native.so,System.{Private.CoreLib,Runtime,Runtime.Extensions}.dll} "$to/dotnet/"
}

# The library that it registers code with is the languages'.
add_registered() { # ROOT SUITE
	local from=$cache/libstdc++-$2
	debian_root "$from" "$2" libstdc++6 || die "no libgcc of $2 for $DEBIAN_ARCH"
	(cd "$from" && tar -c usr/lib/*-linux-gnu/libgcc_s.so.1) | tar -x -C "$1/languages"
	cp "$PROGRAMS/registered" "$1/languages/chains/"
}

# Debian 12's, whatever the suite: other versions are not known.
add_racket() { # ROOT
	local from=$cache/racket-bookworm
	debian_root "$from" bookworm racket || die "no Racket for $DEBIAN_ARCH"
	(cd "$from" && tar -c usr/bin/racket etc/racket usr/share/racket/collects \
		usr/lib/racket/compiled/usr/share/racket/collects usr/lib/*-linux-gnu/{liblz4,libz}.so.1*) | tar -x -C "$1/languages"
}

make_initramfs() { # SUITE
	local root=$work/root busybox library libraries=
	[[ ! -e $work/initramfs-$1 ]] || return 0
	rm -rf "$root"
	# Of Debian 13: its code signs return addresses.
	if [[ ! $is_native ]]; then
		libraries=$cache/trixie
		debian_root "$libraries" trixie libc6 || die "no libc6 of Debian 13 for $DEBIAN_ARCH"
	fi
	busybox=$(find_busybox) || exit
	command -v cpio >/dev/null || die "needs cpio"
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,programs}
	cp -L "$busybox" "$root/bin/busybox"
	chmod +x "$root/bin/busybox"
	cp "$here/init" "$here/steps.sh" "$here/change_machine.sh" "$root/"
	cp "$PROGRAMS"/{ebprof,limited,usdt,script,waits,counted,shape_fp,shape_static,shape_dynamic,shape_bare,context,context_own,context.so} \
		"$root/programs/"
	[[ ! -e $PROGRAMS/chain_go ]] || cp "$PROGRAMS/chain_go" "$root/programs/"
	for library in $(libraries_of "$PROGRAMS/shape_dynamic"); do
		mkdir -p "$root$(dirname "$library")"
		cp -L "$libraries$library" "$root$library"
	done
	add_languages "$root" "$1"
	add_java "$root" "$1"
	add_node "$root" "$1"
	add_luajit "$root" "$1"
	add_erlang "$root" "$1"
	add_racket "$root"
	add_registered "$root" "$1"
	add_dotnet "$root" "$1"
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$work/initramfs-$1"
}

# Emulated on purpose: where /dev/kvm exists it may still hang, and then this would, too.
boot() { # IMAGE VERSION
	local machine=("${qemu[@]}")
	# Without large addresses those of 52 bits, for which the kernel is made, become 47.
	[[ $2 != *-16k ]] || machine[-1]+=,lpa2=off
	run_limited nice "${machine[@]}" -accel "tcg,thread=$emulator_threads" -smp 2 -m 2048 \
		-nographic -no-reboot -nodefaults -serial stdio -kernel "$1" -initrd "$work/initramfs-$(languages_of "$2")" \
		-append "console=$console quiet panic=-1 $arguments"
}

# ---- looking at what a kernel printed ----

part() { # LOG SECTION: its output
	awk -v name="@@@ $2" '/^@@@ /{ inside = $0 == name; next } inside' "$1"
}

status_of() { # LOG SECTION
	awk -v name="@@@ $2" '/^@@@ status /{ if (inside) print $3; inside = 0; next } /^@@@ /{ inside = $0 == name }' "$1"
}

want_status() { # KERNEL LOG SECTION
	local status
	status=$(status_of "$2" "$3")
	if [[ $status == 0 ]]; then
		ok
	else
		not_ok "$1: $3: ${status:+status $status: }${status:-never came to its end:} $(part "$2" "$3" | tail -n 3 | tr '\n' ' ')"
	fi
}

# Samples whose folded stack, with a ";" before each frame, matches.
count_stacks() { # LOG SHAPE REGEX
	part "$1" "folded $2" | sed -E 's/^/;/; s/ ([0-9]+)$/; \1/' | { grep -E -- "$3" || true; } |
		awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}

# Name, whether frame pointers suffice, and the frames of each stack of tests/kernel/shape.c. Without
# any, libc's read() hides its caller from an unwinder by frame pointers.
# read() of glibc 2.41 ends with a jump to where its system calls are made, which has no name.
in_read='([^;]*read|libc[.]so[.]6.fn_[^;]*;libc[.]so[.]6.fn_[^;]*)'
stacks=(
	"chain     yes ;main;a;b;c;spin;"
	"recursion yes ;main;(deep;){400}bottom;"
	"kernel    yes ;main;(reads;)?$in_read;[^ ]*_\\[k\\];"
	"caller    no  ;main;reads;$in_read;[^ ]*_\\[k\\];"
	"library   no  ;main;sorts;.*;compare;"
	"signal    no  ;main;raises;.*;on_signal;"
)
is_judged() { # SHAPE FRAME_POINTERS_SUFFICE
	[[ $MIN_COMPLETE != 0 ]] || [[ $1 == shape_fp && $2 == yes ]]
}

judge_programs() { # KERNEL LOG SECTION
	local kernel=$1 log=$2 target name insns verified microseconds errno max
	want_status "$kernel" "$log" "$3"
	while read -r _ target name insns verified microseconds errno; do
		max=$MAX_VERIFIED
		[[ $name != whole_* ]] || max=$MAX_WHOLE
		printf '%-28s %-8s %-16s %6d %9d %4d.%d\n' "$kernel" "$target" "$name" "$insns" "$verified" \
			$((microseconds / 1000)) $((microseconds / 100 % 10)) >>"$work/programs"
		if [[ $errno != 0 ]]; then
			not_ok "$kernel: $name for $target does not load: errno $errno"
		elif [[ $verified -lt 1 || $verified -gt $max ]]; then
			not_ok "$kernel: $name for $target: $verified verified instructions, at most $max are allowed"
		else
			ok
		fi
	done < <(part "$log" "$3" | grep '^program ')
}

# What walks stacks has less to it without runtimes than with them.
judge_runtimes() { # KERNEL LOG
	local none all
	none=$(walker_verified "$2" "verify none")
	all=$(walker_verified "$2" "verify runtimes")
	if [[ ${none:-0} -gt 0 && ${all:-0} -gt $((none * 5 / 4)) ]]; then ok; else
		not_ok "$1: $none verified instructions without runtimes, $all with them"; fi
}

walker_verified() { # LOG SECTION
	part "$1" "$2" | awk '$1 == "program" && $3 ~ /^(walk|continue|whole)_/ { print $5; exit }'
}

judge_shape() { # KERNEL LOG SHAPE
	local kernel=$1 log=$2 shape=$3 samples truncated complete name suffices regex count found=
	want_status "$kernel" "$log" "record $shape"
	want_status "$kernel" "$log" "report $shape"
	want_status "$kernel" "$log" "folded $shape"
	samples=$(part "$log" "info $shape" | jq -r '.samples' 2>/dev/null || true)
	truncated=$(part "$log" "info $shape" | jq -r '.stacks.truncated' 2>/dev/null || true)
	if [[ ! $samples =~ ^[0-9]+$ || ! $truncated =~ ^[0-9]+$ || $samples -lt $MIN_SAMPLES ]]; then
		not_ok "$kernel: $shape: ${samples:-no} samples, at least $MIN_SAMPLES are wanted"
		return
	fi
	ok
	complete=$(awk -v all="$samples" -v truncated="$truncated" 'BEGIN { printf "%.1f", 100 * (all - truncated) / all }')
	for stack in "${stacks[@]}"; do
		read -r name suffices regex <<<"$stack"
		count=$(count_stacks "$log" "$shape" "$regex")
		found+=$(printf ' %9d' "$count")
		is_judged "$shape" "$suffices" || continue
		if [[ $count -ge $MIN_STACKS ]]; then
			ok
		else
			not_ok "$kernel: $shape: $count samples of the stack \"$name\", at least $MIN_STACKS are wanted"
		fi
	done
	printf '%-28s %-14s %7d %9s%s\n' "$kernel" "$shape" "$samples" "$complete%" "$found" >>"$work/shapes"
	if awk -v got="$complete" -v min="$MIN_COMPLETE" 'BEGIN { exit !(got < min) }'; then
		not_ok "$kernel: $shape: $complete % of stacks are complete, not $MIN_COMPLETE %"
	elif [[ $MIN_COMPLETE != 0 ]]; then
		ok
	fi
}

# Read here, with the debug symbols of the guest's kernel: what vfs_read() was inlined into, and lines.
judge_kernel_lines() { # VERSION KERNEL LOG
	local version=$1 kernel=$2 log=$3 debug folded lines
	debug=$(find_debug "$version" "$kernel")
	if [[ -z $debug ]]; then
		skip "$kernel: lines of the kernel: no debug symbols in $cache/$version/debug, see KERNEL_DEBUG"
		return
	fi
	part "$log" "data shape_fp" | base64 -d >"$work/guest.data" 2>/dev/null || true
	folded=$("$PROGRAMS/ebprof" convert --folded --symfs "$debug" -i "$work/guest.data" -o - 2>&1 || true)
	if grep -qE ';vfs_read_\[k\];.*_\[i\]' <<<"$folded"; then ok; else
		not_ok "$kernel: nothing is inlined below vfs_read(): $(grep -m 1 vfs_read <<<"$folded")"; fi
	lines=$("$PROGRAMS/ebprof" convert --pprof --symfs "$debug" -i "$work/guest.data" -o - 2>/dev/null |
		gunzip 2>/dev/null | grep -a -c 'fs/read_write\.c' || true)
	if [[ $lines -gt 0 ]]; then ok; else not_ok "$kernel: vfs_read() has no file"; fi
}

# Records, or names locked memory as what is missing, and nothing else.
judge_limits() { # KERNEL LOG
	local kernel=$1 log=$2 said
	want_status "$kernel" "$log" "soft limit"
	if part "$log" "soft limit" | grep -qx 64; then
		ok
	else
		not_ok "$kernel: the command does not have its own limit of locked memory: $(part "$log" "soft limit" | head -n 1)"
	fi
	said=$(part "$log" "hard limit")
	if [[ $(status_of "$log" "hard limit") == 0 || $said == *"missing: locked memory: limited to 64 KiB"* && $said != *missing:*missing:* ]]; then
		ok
	else
		not_ok "$kernel: little locked memory is not named: $said"
	fi
}

# Of the probe of tests/e2e/usdt.c each hit is a sample, below the functions that lead there.
judge_probes() { # KERNEL LOG
	local kernel=$1 log=$2 section exact
	for section in usdt semaphore; do
		want_status "$kernel" "$log" "record $section"
		exact=$(part "$log" "info $section" | jq '.counters | .hits == 2000 and .hit_samples == 2000 and
			.ticks == .samples + .idle + .filtered + .lost_ring + .lost_unresolved + .lost_write' \
			2>/dev/null || true)
		if [[ $exact == true ]]; then ok; else
			not_ok "$kernel: $section: 2000 hits, but $(part "$log" "info $section" |
				grep '"counters"' || part "$log" "record $section" | tail -n 2 | tr '\n' ' ')"; fi
	done
	if [[ $(part "$log" "record semaphore" | tr -d '\r' | grep -x 2000) == 2000 ]]; then ok; else
		not_ok "$kernel: the program did not see that its probe is wanted"; fi
	if [[ $(count_stacks "$log" usdt ';main;outer;plain_place;') -ge 1500 ]]; then ok; else
		not_ok "$kernel: stacks of the probe: $(part "$log" "folded usdt" | tail -n 3)"; fi
}

# Script stacks by probes, of tests/e2e/script_probes.c: whole, and every function is counted; or, where
# there are no cookies, a word that the kernel is too old.
judge_script() { # KERNEL LOG
	local kernel=$1 log=$2 stack counted
	if part "$log" check | grep -q 'one probe at a time'; then
		if part "$log" "record script" | grep -q 'usdt-stacks needs Linux 5.15 or later'; then ok; else
			not_ok "$kernel: script stacks: $(part "$log" "record script" | tail -n 2)"; fi
		return
	fi
	judge_programs "$kernel" "$log" "verify script"
	want_status "$kernel" "$log" "record script"
	want_status "$kernel" "$log" "folded script"
	for stack in 'heavy;spin;' 'light;spin;' 'catcher;quiet;spin;'; do
		if [[ $(count_stacks "$log" script ";<module>;$stack") -ge $MIN_STACKS ]]; then ok; else
			not_ok "$kernel: script stacks: few of $stack: $(part "$log" "folded script" | tail -n 3)"; fi
	done
	if [[ $(count_stacks "$log" script ';thrower;quiet;') == 0 ]]; then ok; else
		not_ok "$kernel: script stacks: of functions that were left: $(part "$log" "folded script" | grep thrower)"; fi
	counted=$(part "$log" "record script" | sed -nE 's/^([0-9]+) entered, ([0-9]+) left.*/\1 entries + \2 returns/p')
	if [[ -n $counted ]] && part "$log" "record script" | grep -q " $counted took "; then ok; else
		not_ok "$kernel: script stacks: $counted are not what was counted: $(part "$log" "record script" | grep entries)"; fi
}

# What tests/e2e/waits.c clocks of its sleeps and reads is what was recorded, each wait of them with
# its stack, and every thread that sleeps through a recording is a sample.
judge_waits() { # KERNEL LOG
	local kernel=$1 log=$2 way clocked recorded counted
	judge_programs "$kernel" "$log" "verify waits"
	judge_programs "$kernel" "$log" "verify sleepers"
	judge_programs "$kernel" "$log" "verify scripts asleep"
	if part "$log" "verify sleepers" | grep -q " \(continue\|whole\)_sleepe"; then ok; else
		not_ok "$kernel: what walks tasks that sleep was not loaded"; fi
	for way in long_sleeps pipe_reads; do
		clocked=$(part "$log" "record waits" | awk -v way=$way '$1 == way { print $3 }')
		recorded=$(($(count_stacks "$log" offcpu ";$way(_\\[i\\])?;") + $(count_stacks "$log" runq ";$way(_\\[i\\])?;")))
		if awk -v got="$recorded" -v want="${clocked:-0}" 'BEGIN { exit !(want > 0 && got > 0.9 * want && got < 1.02 * want) }'; then
			ok
		else
			not_ok "$kernel: $way: ${clocked:-no} ns, recorded $recorded: $(part "$log" "record waits" | tail -n 2 | tr '\n' ' ')"
		fi
	done
	for counted in waits sleepers; do
		if [[ $(part "$log" "info $counted" | jq '.sources[] | select(.name == "wait") |
			.events.count == .samples.count + .below.count + .filtered.count + .lost_ring.count + .lost_busy.count and
			.events.sum == .samples.sum + .below.sum + .filtered.sum + .lost_ring.sum + .lost_busy.sum and
			.lost_busy.count * 50 <= .samples.count and .samples.count >= 30' 2>/dev/null) == true ]]; then
			ok
		else
			not_ok "$kernel: $counted: $(part "$log" "info $counted" | grep '"wait"')"
		fi
	done
	if [[ $(part "$log" "info sleepers" | jq '.samples') == 51 ]]; then ok; else
		not_ok "$kernel: $(part "$log" "info sleepers" | jq -c '.samples, .stacks') samples of 51 threads that sleep"; fi
}

# A tracepoint's hits and page faults are as many as the program made, each with its stack.
judge_counted() { # KERNEL LOG
	local kernel=$1 log=$2 kind function wanted recorded
	judge_programs "$kernel" "$log" "verify counted"
	for kind in "faults touch_pages 500" "calls do_calls 300"; do
		read -r kind function wanted <<<"$kind"
		recorded=$(count_stacks "$log" "$kind" ";${function}[; ]")
		if [[ $recorded == "$wanted" ]]; then ok; else
			not_ok "$kernel: $recorded of $wanted $kind: $(part "$log" "record $kind" | tail -n 2 | tr '\n' ' ')"; fi
	done
}

# What the members of a group count is what the program says of itself, and all of it is there.
judge_group() { # KERNEL LOG
	local kernel=$1 log=$2
	judge_programs "$kernel" "$log" "verify group"
	want_status "$kernel" "$log" "record group"
	if [[ $(part "$log" "info group" | jq '[.sources[] | {(.name): .}] | add |
		(."page-faults".events.sum as $faults | 50000 <= $faults and $faults <= 50300) and .cs.events.sum >= 50 and
		(."page-faults" | .events.sum == .samples.sum + .below.sum)' 2>/dev/null) == true ]]; then ok; else
		not_ok "$kernel: a group's counts: $(part "$log" "info group" | grep '"page-faults"\|"cs"')"; fi
}

# Programs that load, or a word that the kernel is too old for them.
judge_if_new_enough() { # KERNEL LOG SECTION WORD
	if part "$2" "$3" | grep -q "$4"; then ok; else judge_programs "$1" "$2" "$3"; fi
}

judge_durations() { # KERNEL LOG
	local kernel=$1 log=$2
	judge_if_new_enough "$kernel" "$log" "verify calls" 'needs Linux 5\.15'
	judge_programs "$kernel" "$log" "verify wakers"
	judge_if_new_enough "$kernel" "$log" "verify lock" 'Linux 5\.19'
	judge_programs "$kernel" "$log" "verify block"
	judge_if_new_enough "$kernel" "$log" "verify heap" 'needs Linux 5\.15'
	want_status "$kernel" "$log" "record getppid"
	if [[ $(part "$log" "info getppid" | jq '[.sources[] | .events.count] | max' 2>/dev/null) == 300 ]]; then ok; else
		not_ok "$kernel: calls of getppid(): $(part "$log" "info getppid" | grep '"name"' | head -n 2)"; fi
}

# Of two programs the one below the group is sampled.
judge_cgroup() { # KERNEL LOG
	local kernel=$1 log=$2 rows
	judge_programs "$kernel" "$log" "verify cgroup"
	want_status "$kernel" "$log" "record cgroup"
	rows=$(part "$log" "groups of cgroup" | tr -d '\r' | grep -v '^#' | grep .) # \r clears the progress
	if [[ $(wc -l <<<"$rows") == 1 && $rows =~ ^\ *100\.00%.*/ebprof-kernel-[0-9]+\.slice/below$ &&
		$(awk '{ print $3 }' <<<"$rows") -ge 50 ]]; then
		ok
	else
		not_ok "$kernel: --cgroup: $(head -n 5 <<<"$rows")"
	fi
}

# CPU 1 went and came while shape_fp ran there, and the recorder went on with it: of its 4.2 s, less
# two seconds in which that may go unseen. What is missing is said.
judge_changes() { # KERNEL LOG
	local kernel=$1 log=$2 target samples told
	for target in changes moved; do
		want_status "$kernel" "$log" "record $target"
		samples=$(part "$log" "cpus of $target" | awk '$4 == 1 { print $3 }')
		if [[ ${samples:-0} -ge 400 ]]; then ok; else
			not_ok "$kernel: $target: ${samples:-no} samples of the CPU that came back, at least 400 are wanted"; fi
		told=$(part "$log" "info $target" | sed -n '/^{/,$p' | jq '.counters.cpus_back == 2 and .duration_s < 120 and
			.ticks == .samples + .idle + .filtered + .lost' 2>/dev/null || true)
		if [[ $told == true ]]; then ok; else
			not_ok "$kernel: $target: $(part "$log" "info $target" | grep '"counters"')"; fi
		if [[ $(count_stacks "$log" "$target" ';shape_fp[+]|;\[unnamed') -le 5 ]]; then ok; else
			not_ok "$kernel: $target: names of what ran on the CPU that came back are missing"; fi
	done
}

# Why there is no recording of a language's chain; nothing: there has to be one.
why_no_chain() { # VERSION LANGUAGE
	case $2 in
	go) [[ -e $PROGRAMS/chain_go ]] || echo "it was built without go" ;;
	java*) [[ -e $PROGRAMS/Chain.class ]] || echo "it was built without javac" ;;&
	erlang) [[ -e $PROGRAMS/chain.beam ]] || echo "it was built without erlc" ;;&
	dotnet) command -v dotnet >/dev/null || echo "no dotnet here" ;;&
	*) [[ $1 != running ]] || echo "interpreters are for guests" ;;
	esac
}

# The whole chain of tests/kernel/chains, of each language.
judge_languages() { # VERSION KERNEL LOG
	local kernel=$2 log=$3 language all exact cut why of='(main::|main[.]|Object#|Chain[.]|chain:)?' to='(/[0-9])?'
	for language in python ruby perl php lua luajit luajit_interpreted luajit_inlined node wasm java java_interpreted erlang racket dotnet go; do
		if ! grep -q "^@@@ record chain $language\\b" "$log"; then
			why=$(why_no_chain "$1" "$language")
			if [[ $why ]]; then skip "$kernel: $language: $why"; else
				not_ok "$kernel: $language: its chain was not recorded"; fi
			continue
		fi
		want_status "$kernel" "$log" "record chain $language"
		all=$(count_stacks "$log" "chain $language" ";${of}inner${to}[; ]")
		exact=$(count_stacks "$log" "chain $language" \
			";${of}outer${to};${of}middle${to};${of}inner${to}[; ]")
		printf '%-28s %-14s %7d %9s%%\n' "$kernel" "$language" "$all" \
			"$(awk -v all="$all" -v exact="$exact" 'BEGIN { printf "%.1f", all ? 100 * exact / all : 0 }')" >>"$work/languages"
		if [[ $all -ge 100 && $((exact * 100)) -ge $((all * 97)) ]]; then ok; else
			not_ok "$kernel: $language: $exact of $all samples of the whole chain: $(part "$log" "folded chain $language" |
				grep inner | head -n 1)"; fi
		cut=$(count_stacks "$log" "chain $language" ";\\[truncated[^;]*;.*;${of}inner${to}[; ]")
		if [[ $((cut * 100)) -le $((all * 3)) ]]; then ok; else
			not_ok "$kernel: $language: $cut of $all samples are cut below the chain"; fi
	done
	if grep -q '^@@@ labels erlang' "$log"; then
		if part "$log" "labels erlang" | awk '
			# Before the offsets are there, or while the text of the name is not in memory.
			/chain:/ && ($4 == "-" || ($4 ~ /^<0[.][0-9]+[.]0>$/ && $5 == "-")) { none += $3; next }
			/chain:/ { if ($4 ~ /^<0[.][0-9]+[.]0>$/ && $5 == "erlang:apply/2") good += $3; else bad += $3 }
			END { exit !(good > 20 && !bad && none * 100 <= good * 3) }'; then ok; else
			not_ok "$kernel: labels of Erlang's processes: $(part "$log" "labels erlang" | grep chain: | head -n 3)"; fi
	fi
	grep -q '^@@@ labels go' "$log" || return 0
	all=$(count_stacks "$log" "chain go" ';main[.]inner[; ]')
	if part "$log" "labels go" | awk -v all="$all" '$NF == "chained" { count = $3 } END { exit count < 0.97 * all }'; then ok; else
		not_ok "$kernel: labels of goroutines: $(part "$log" "labels go" | grep -v '^#' | head -n 3)"; fi
}

# Stacks through code of tests/e2e/registered_code.c, whose rules are in its registry alone; what ran
# before that had been read is cut.
judge_registered() { # VERSION KERNEL LOG
	local kernel=$2 log=$3 registry all exact
	if [[ $1 == running ]]; then
		skip "$kernel: registered code: its library is in guests"
		return
	fi
	for registry in relocatable frames; do
		want_status "$kernel" "$log" "record registered $registry"
		all=$(count_stacks "$log" "registered $registry" ';spin_small;')
		exact=$(count_stacks "$log" "registered $registry" ';main;(run_code(_\[i\])?;)?calls;(small|\[JIT\][^;]*);spin_small;')
		printf '%-28s %-14s %7d %9s%%\n' "$kernel" "${registry:0:14}" "$all" \
			"$(awk -v all="$all" -v exact="$exact" 'BEGIN { printf "%.1f", all ? 100 * exact / all : 0 }')" >>"$work/languages"
		if [[ $all -ge 100 && $((exact * 100)) -ge $((all * 90)) ]]; then ok; else
			not_ok "$kernel: registered $registry: $exact of $all samples: $(part "$log" "folded registered $registry" |
				grep spin_small | head -n 1)"; fi
	done
}

# What threads publish while they are in a function is what their samples there have.
judge_contexts() { # KERNEL LOG
	local kernel=$1 log=$2 place counts
	for place in own library; do
		want_status "$kernel" "$log" "record context $place"
		if counts=$(part "$log" "rows of context $place" | awk '
			$NF ~ /^work_(even|odd)$/ && $1 !~ /^#/ && $4 != "-" {
				is_right = $4 == substr($NF, 6) && $5 ~ /^ab0+[0-3]$/ && $6 ~ /^cd00000000/
				if (is_right) good += $3; else bad += $3
			}
			END { print good + 0, bad + 0; exit !(good > 20 && !bad) }'); then ok; else
			not_ok "$kernel: contexts of threads, $place: $counts samples with the right one, with others"; fi
	done
}

judge() { # VERSION LOG
	local log=$2 kernel shape exact
	kernel=$(part "$log" kernel)
	if [[ -z $kernel ]]; then
		not_ok "$1: did not come up: $(tail -n 3 "$log" | tr '\n' ' ')"
		return
	fi
	want_status "$kernel" "$log" check
	if part "$log" check | grep -q '^ok *kernel symbols'; then ok; else not_ok "$kernel: the kernel's symbols are not found"; fi
	judge_programs "$kernel" "$log" verify
	judge_programs "$kernel" "$log" "verify none"
	judge_programs "$kernel" "$log" "verify runtimes"
	judge_runtimes "$kernel" "$log"
	for shape in shape_fp shape_static shape_dynamic shape_bare; do
		judge_shape "$kernel" "$log" "$shape"
	done
	want_status "$kernel" "$log" "record system"
	exact=$(part "$log" "info system" | jq '.samples > 20 and .ticks == .samples + .idle + .filtered + .lost' 2>/dev/null || true)
	if [[ $exact == true ]]; then ok; else not_ok "$kernel: the whole system: ticks do not add up, or hardly any"; fi
	judge_probes "$kernel" "$log"
	judge_script "$kernel" "$log"
	judge_waits "$kernel" "$log"
	judge_counted "$kernel" "$log"
	judge_group "$kernel" "$log"
	judge_durations "$kernel" "$log"
	judge_cgroup "$kernel" "$log"
	judge_limits "$kernel" "$log"
	judge_languages "$1" "$kernel" "$log"
	judge_registered "$1" "$kernel" "$log"
	judge_contexts "$kernel" "$log"
	[[ $1 == running ]] || judge_changes "$kernel" "$log"
	[[ $1 == running || $1 == */* ]] || judge_kernel_lines "$1" "$kernel" "$log"
}

run_one() { # VERSION
	local version=$1 log image why
	log=$logs/$(basename "$version").log
	echo "== $version"
	if [[ $version == running ]]; then
		[[ $(id -u) == 0 ]] || { skip "running: recording needs root"; return; }
		mkdir "$work/running"
		run_limited "$here/steps.sh" "$PROGRAMS" "$work/running" >"$log"
	else
		find_image "$version" || { not_ok "$version: $why"; return; }
		make_initramfs "$(languages_of "$version")"
		boot "$image" "$version" >"$log"
		sed -i -E $'s/\r$//; s/\e(\\[[0-9;?]*[a-zA-Z]|c)//g' "$log" # the firmware's colours
	fi
	judge "$version" "$log"
}

command -v jq >/dev/null || die "needs jq"
if [[ ${versions[*]} != running ]]; then
	command -v "${qemu[0]}" >/dev/null || die "needs ${qemu[0]}"
fi
for version in "${versions[@]}"; do
	run_one "$version"
done

echo
printf '%-28s %-8s %-16s %6s %9s %6s\n' kernel for program insns verified ms
cat "$work/programs" 2>/dev/null || true
echo
printf '%-28s %-14s %7s %9s' kernel shape samples complete
for stack in "${stacks[@]}"; do
	printf ' %9s' "${stack%% *}"
done
echo
cat "$work/shapes" 2>/dev/null || true
echo
printf '%-28s %-14s %7s %9s\n' kernel language samples whole
cat "$work/languages" 2>/dev/null || true
echo
echo "logs: $logs"
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
