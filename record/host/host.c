#include "record/host/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/machine/machine.h"
#include "record/host/proc.h"

/* x86 says "model name", arm64 has nothing but numbers. */
bool host_put_cpu_model(struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!proc_read_file("/proc/cpuinfo", &text))
		return false;
	static const char *const keys[] = {"model name", "CPU part"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char *line = strstr(str_text(&text), keys[i]);
		char *value = line ? strchr(line, ':') : NULL;
		if (!value)
			continue;
		value += strspn(value, ": \t");
		value[strcspn(value, "\n")] = '\0';
		str_puts(out, value);
		return true;
	}
	return false;
}

static void write_cpu_model(struct writer *writer)
{
	CLEANUP(str_deinit) struct str model = {0};
	if (host_put_cpu_model(&model))
		writer_meta(writer, LAYOUT_META_CPU_MODEL, str_text(&model));
}

static void write_number(struct writer *writer, const char *key, long value)
{
	char text[32];
	snprintf(text, sizeof(text), "%ld", value);
	writer_meta(writer, key, text);
}

/* random(4): a UUID, which is another one after each boot. */
bool host_put_boot(struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!proc_read_file("/proc/sys/kernel/random/boot_id", &text))
		return false;
	str_truncate(&text, strcspn(str_text(&text), "\n"));
	str_puts(out, str_text(&text));
	return true;
}

static void write_boot(struct writer *writer)
{
	CLEANUP(str_deinit) struct str boot = {0};
	if (host_put_boot(&boot))
		writer_meta(writer, LAYOUT_META_BOOT, str_text(&boot));
}

void host_write_meta(struct writer *writer)
{
	struct utsname name;
	uname(&name);
	writer_meta(writer, LAYOUT_META_VERSION, EBPROF_VERSION);
	writer_meta(writer, LAYOUT_META_HOST, name.nodename);
	writer_meta(writer, LAYOUT_META_KERNEL, name.release);
	writer_meta(writer, LAYOUT_META_ARCH, name.machine);
	write_boot(writer);
	write_cpu_model(writer);
	unsigned address_bits =
		machine_native()->address_bits ? machine_native()->address_bits() : 0;
	if (address_bits)
		write_number(writer, LAYOUT_META_ADDRESS_BITS, address_bits);
	write_number(writer, LAYOUT_META_CPUS, sysconf(_SC_NPROCESSORS_ONLN));
	write_number(writer, LAYOUT_META_MEMORY, sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}
