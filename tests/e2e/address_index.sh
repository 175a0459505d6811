#!/bin/bash
# Compressed debug information is unpacked twice: by the first report, and by a later one that has
# addresses without an answer, which makes the index of all of them.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# Three functions to be sampled apart from each other, and more than a megabyte of numbers that no
# compression makes smaller.
make_program() {
	command -v gcc >/dev/null || skip "no gcc here"
	{
		awk 'BEGIN { srand(7); printf "enum big {"
			for (i = 0; i < 200000; i++) printf "E%d = 0x%x%07xULL,\n", i, 1 + rand() * 2^28, rand() * 2^28
			print "}; volatile enum big big;" }'
		for name in first second third; do
			cat <<-END
				static inline __attribute__((always_inline)) unsigned mix_$name(unsigned x)
				{
					return x * x ^ x >> 3;
				}
				__attribute__((noinline)) unsigned spin_$name(long rounds)
				{
					unsigned sum = 0;
					for (long i = 0; i < rounds; i++)
						sum += mix_$name(sum + (unsigned)i) + (unsigned)sizeof("$name");
					return sum;
				}
			END
		done
		cat <<-END
			int main(int argc, char **argv)
			{
				unsigned (*const spin[])(long) = {spin_first, spin_second, spin_third};
				return argc < 2 || spin[argv[1][0] - '0'](150000000) == 1;
			}
		END
	} >program.c
	gcc -O2 -g -fno-ipa-icf -gz=zlib program.c -o program || skip "gcc compresses no debug information"
	local size
	size=$(objdump -h program | awk '$2 == ".debug_info" { print $3 }')
	((0x$size > 1 << 20)) || fail "only 0x$size bytes of debug information"
	for i in 0 1 2; do
		"$EBPROF" record -q --no-archive -o $i.data -- ./program $i || fail "record"
	done
}

# The same as without a cache.
want_same() { # RECORDING
	for how in "report -g --percent-limit 0" "convert --folded -o -"; do
		# shellcheck disable=SC2086
		"$EBPROF" $how --symbol-cache none "$1" >want.txt 2>/dev/null || fail "$how"
		# shellcheck disable=SC2086
		"$EBPROF" $how --symbol-cache kept "$1" >got.txt 2>/dev/null || fail "$how with a cache"
		diff <(grep -v '^#' want.txt) <(grep -v '^#' got.txt) >difference || fail "$how differs: $(head -n 5 difference)"
	done
	grep -q "mix_$2" got.txt || fail "no inlined function: $(cat got.txt)"
}

# That of the program: the C library may have one, too.
index_file() { find kept -name "$(readelf -n program | awk '/Build ID/ { print $3 }')*.index"; }

test_new_addresses_of_a_known_file_are_looked_up() {
	make_program
	want_same 0.data first
	want_same 0.data first
	[[ -z $(index_file) ]] || fail "an index after the first report"
	cp -a kept after_first
	want_same 1.data second
	[[ -n $(index_file) ]] || fail "no index after one with new addresses"
	[[ -z $(find kept -name '*-new*') ]] || fail "something unfinished is left"
	command -v strace >/dev/null || skip "no strace here"
	strace -f -y -e trace=mmap -o trace "$EBPROF" report --stdio --symbol-cache kept 2.data >/dev/null 2>&1 ||
		skip "strace does not work here"
	grep -q '\.index>' trace || fail "the index was not mapped"
	! grep '/program>' trace || fail "the program's debug information was read, too"
	rm kept/*.answers && cp -a after_first/*.answers kept
	want_same 2.data third
}

test_a_damaged_index_is_made_again() {
	make_program
	want_same 0.data first
	cp -a kept after_first
	want_same 1.data second
	local index
	index=$(index_file)
	[[ -n $index ]] || fail "there is none"
	for damage in "truncate -s 100" "truncate -s -9" "dd if=/dev/zero bs=1 seek=200 count=3000 conv=notrunc status=none of="; do
		rm kept/*.answers && cp -a after_first/*.answers kept
		case $damage in
		dd*) eval "$damage$index" ;;
		*) $damage "$index" ;;
		esac
		want_same 2.data third
		(($(stat -c %s "$index") > 200)) || fail "it was not made again after $damage"
		cmp -n 4096 "$index" /dev/zero >/dev/null && fail "zeros are left after $damage"
		rm kept/*.answers && cp -a after_first/*.answers kept
		want_same 1.data second
	done
}

run_tests
