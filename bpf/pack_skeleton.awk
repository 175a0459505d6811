# From a skeleton of bpftool's, whose object is a third debugging information of the kernel's side,
# to one that has the object packed and unpacks it when it is opened: 1.1 MB less for each.
#   awk -v name=NAME -v bytes=N -v packed=FILE
# N bytes are in the object, FILE is what gzip -n made of it, as `od -An -v -to1` lists it. libbpf
# has copies of all that it needs once an object is open, but the skeleton keeps it until it ends.
# Skeletons of bpftool before 6.0 have no function that returns the object: they stay as they are.
#
# Sources: tools/bpf/bpftool/gen.c of Linux 6.1; RFC 1952, section 2.3.1, for gzip's head and tail.

{ lines[++count] = $0 }
$0 == "static inline const void *" name "__elf_bytes(size_t *sz)" { object = count }

function put_head() {
	print "#include <stdint.h>\n#include \"format/base/inflate.h\"\n"
	print "static inline void " name "__free(struct bpf_object_skeleton *skeleton)\n{"
	print "\tif (skeleton)\n\t\tfree((void *)skeleton->data);"
	print "\tbpf_object__destroy_skeleton(skeleton);\n}\n"
}

function put_object(    line) {
	print "{\n\tstatic const uint8_t packed[] ="
	while ((getline line < packed) > 0) {
		gsub(/ /, "\\", line)
		print "\t\t\"" line "\""
	}
	print "\t\t;\n\tenum { HEAD = 10, TAIL = 8 };"
	print "\tuint8_t *whole = (uint8_t *)malloc(" bytes ");"
	print "\t*sz = whole && inflate_raw(packed + HEAD, sizeof(packed) - 1 - HEAD - TAIL, whole, " bytes ") ? " bytes " : 0;"
	print "\treturn whole;\n}"
}

END {
	for (i = 1; i <= count; i++) {
		line = lines[i]
		if (object && line ~ /bpf_object__destroy_skeleton\(/)
			sub(/bpf_object__destroy_skeleton/, name "__free", line)
		print line
		if (object && line == "#include <bpf/libbpf.h>")
			put_head()
		if (object && i == object) {
			put_object()
			while (lines[i] != "}")
				i++
		}
	}
}
