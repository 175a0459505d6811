#include "format/base/cgroup_path.h"

#include <string.h>

enum {
	ID_DIGITS = 64,
	ECS_DIGITS = 32,
	UID_BYTES = 36, /* 8-4-4-4-12 digits */
};

static const char hex[] = "0123456789abcdef";

struct part {
	const char *text;
	size_t len;
};

/* The next part of a path from *at on; false at its end. */
static bool cgroup_next_part(const char **at, struct part *ret)
{
	*at += strspn(*at, "/");
	*ret = (struct part){*at, strcspn(*at, "/")};
	*at += ret->len;
	return ret->len;
}

static bool part_begins(const struct part *part, const char *text)
{
	size_t len = strlen(text);
	return part->len >= len && memcmp(part->text, text, len) == 0;
}

static bool part_ends(const struct part *part, const char *text)
{
	size_t len = strlen(text);
	return part->len >= len && memcmp(part->text + part->len - len, text, len) == 0;
}

/* ---- containers ---- */

/* 64 digits anywhere in the part; the processes that look after a container are none of it. */
static bool find_id(const struct part *part, struct part *ret)
{
	const char *end = part->text + part->len;
	if (part_begins(part, "crio-conmon-") || part_begins(part, "libpod-conmon-"))
		return false;
	for (const char *at = part->text; at < end;) {
		size_t digits = strspn(at, hex);
		*ret = (struct part){at, digits};
		if (digits == ID_DIGITS)
			return true;
		at += digits ? digits : 1;
	}
	return false;
}

/* 32 digits, "-" and a number: a container of ECS, below the folder of its task. */
static bool is_of_ecs(const struct part *part)
{
	size_t digits = strspn(part->text, hex);
	return digits == ECS_DIGITS && part->len > ECS_DIGITS + 1 &&
	       part->text[ECS_DIGITS] == '-' &&
	       strspn(part->text + ECS_DIGITS + 1, "0123456789") == part->len - ECS_DIGITS - 1;
}

/* What is left of the part without what it begins and ends with. */
static bool cut_around(
	const struct part *part, const char *begin, const char *end, struct part *ret)
{
	size_t around = strlen(begin) + strlen(end);
	if (part->len <= around || !part_begins(part, begin) || !part_ends(part, end))
		return false;
	*ret = (struct part){part->text + strlen(begin), part->len - around};
	return true;
}

static bool part_names_container(const struct part *part, struct part *ret)
{
	if (is_of_ecs(part)) {
		*ret = *part;
		return true;
	}
	return find_id(part, ret) || cut_around(part, "machine-", ".scope", ret) ||
	       cut_around(part, "lxc.payload.", "", ret);
}

static int cgroup_digit(char c)
{
	const char *found = c ? strchr(hex, c) : NULL;
	return found ? (int)(found - hex) : -1;
}

/* Names of units have other characters as \xHH; systemd.unit(5), "String escaping". */
static void put_unescaped(const struct part *part, struct str *ret)
{
	for (size_t i = 0; i < part->len; i++) {
		const char *at = part->text + i;
		bool is_escape = part->len - i >= 4 && at[0] == '\\' && at[1] == 'x' &&
				 cgroup_digit(at[2]) >= 0 && cgroup_digit(at[3]) >= 0;
		int c = is_escape ? cgroup_digit(at[2]) << 4 | cgroup_digit(at[3]) : 0;
		str_putc(ret, c >= ' ' ? (char)c : *at);
		i += c >= ' ' ? 3 : 0;
	}
}

void cgroup_put_container(const char *path, struct str *ret)
{
	struct part part, found, last = {NULL, 0};
	while (cgroup_next_part(&path, &part))
		if (part_names_container(&part, &found))
			last = found;
	put_unescaped(&last, ret);
}

/* ---- pods ---- */

/* 8-4-4-4-12 digits, or as many in a row: static pods have a hash there. */
static size_t uid_bytes(const char *text)
{
	static const size_t ends[] = {8, 13, 18, 23};
	size_t digits = strspn(text, hex);
	if (digits == ECS_DIGITS)
		return digits;
	for (size_t i = 0, group = 0; i < UID_BYTES; i++) {
		bool is_dash = group < sizeof(ends) / sizeof(*ends) && i == ends[group];
		group += is_dash;
		if (is_dash ? text[i] != '-' && text[i] != '_' : cgroup_digit(text[i]) < 0)
			return 0;
	}
	return UID_BYTES;
}

/* "podUID" (cgroupfs), "kubepods-QOS-podUID.slice" (systemd). */
static bool find_pod(const struct part *part, struct part *ret)
{
	static const char word[] = "pod";
	const size_t word_len = sizeof(word) - 1;
	for (size_t i = 0; i + word_len < part->len; i++) {
		const char *at = part->text + i;
		bool is_begin = i == 0 || at[-1] == '-';
		size_t bytes =
			is_begin && memcmp(at, word, word_len) == 0 ? uid_bytes(at + word_len) : 0;
		*ret = (struct part){at + word_len, bytes};
		if (bytes && i + word_len + bytes <= part->len)
			return true;
	}
	return false;
}

void cgroup_put_pod(const char *path, struct str *ret)
{
	struct part part, found, last = {NULL, 0};
	while (cgroup_next_part(&path, &part))
		if (find_pod(&part, &found))
			last = found;
	for (size_t i = 0; i < last.len; i++)
		str_putc(ret, last.text[i] == '_' ? '-' : last.text[i]);
}

/* ---- units ---- */

void cgroup_put_unit(const char *path, struct str *ret)
{
	struct part part, container, last = {NULL, 0};
	while (cgroup_next_part(&path, &part)) {
		bool is_unit = part_ends(&part, ".service") || part_ends(&part, ".scope");
		if (is_unit && !part_names_container(&part, &container))
			last = part;
	}
	put_unescaped(&last, ret);
}
