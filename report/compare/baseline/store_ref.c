#include "report/compare/baseline/store_ref.h"

#include <stdbool.h>
#include <string.h>

#include "format/base/hex.h"

enum {
	MAX_FILE_NAME_BYTES = 150,
	KEPT_FILE_NAME_BYTES = 80, /* of a longer one, before its hash */
	MAX_ENTRIES = 10000,
};

static const char heading[] = "ebprof-baselines 1";

/* ---- words ---- */

/* A space is as frequent in names of CPUs as "%20" would be ugly. */
static void store_ref_put_word(struct str *out, const char *text)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-.+@=,";
	for (size_t i = 0; text[i]; i++) {
		bool is_plain = strchr(harmless, text[i]) && (i || text[i] != '.');
		if (text[i] == ' ')
			str_putc(out, '_');
		else if (is_plain)
			str_putc(out, text[i]);
		else
			hex_put_percent(out, text[i]);
	}
}

/* Of a digit as store_ref_put_word() puts it: upper case, so that each name has one file. */
static int store_ref_digit_of(char c)
{
	return c >= 'a' ? -1 : hex_digit_value(c);
}

/* NULL: it is not what store_ref_put_word() puts. */
static char *take_word(const char *word, size_t len)
{
	CLEANUP(str_deinit) struct str out = {0};
	for (size_t i = 0; i < len; i++) {
		if (!word[i])
			return NULL;
		if (word[i] != '%') {
			str_putc(&out, word[i] == '_' ? ' ' : word[i]);
			continue;
		}
		int high = len - i > 2 ? store_ref_digit_of(word[i + 1]) : -1;
		int low = len - i > 2 ? store_ref_digit_of(word[i + 2]) : -1;
		if (high < 0 || low < 0 || !(high | low))
			return NULL;
		str_putc(&out, (char)(high << 4 | low));
		i += 2;
	}
	return out.len && out.len <= STORE_MAX_NAME_BYTES ? str_steal(&out) : NULL;
}

struct err *store_ref_put_file_name(const char *what, const char *name, struct str *out)
{
	CLEANUP(str_deinit) struct str word = {0};
	char hash[SHA256_DIGITS + 1];
	size_t len = strlen(name);
	if (!len)
		return err_new(ERR_USAGE, "the %s has an empty name", what);
	if (len > STORE_MAX_NAME_BYTES)
		return err_new(ERR_USAGE, "the name of the %s has %zu bytes, more than %d", what,
			len, STORE_MAX_NAME_BYTES);
	store_ref_put_word(&word, name);
	if (word.len <= MAX_FILE_NAME_BYTES) {
		str_puts(out, str_text(&word));
		return NULL;
	}
	sha256_of(name, len, hash);
	str_truncate(&word, KEPT_FILE_NAME_BYTES);
	str_printf(out, "%s%%~%s", str_text(&word), hash);
	return NULL;
}

/* ---- in memory ---- */

void store_ref_init(struct store_ref *ref, const struct store_key *key)
{
	*ref = (struct store_ref){
		.job = mem_strdup(key->job),
		.branch = mem_strdup(key->branch),
		.cpu_model = mem_strdup(key->cpu_model),
	};
}

void store_ref_deinit(struct store_ref *ref)
{
	mem_free(ref->job);
	mem_free(ref->branch);
	mem_free(ref->cpu_model);
	store_ref_drop(ref, 0, ref->entries.len);
	vec_deinit(&ref->entries);
	*ref = (struct store_ref){0};
}

void store_ref_drop(struct store_ref *ref, size_t first, size_t count)
{
	struct store_entry *entries = ref->entries.data;
	for (size_t i = first; i < first + count; i++)
		mem_free(entries[i].event);
	for (size_t i = first + count; i < ref->entries.len; i++)
		entries[i - count] = entries[i];
	ref->entries.len -= count;
}

void store_ref_add(struct store_ref *ref, const struct store_entry *entry)
{
	struct store_entry added = *entry;
	added.event = mem_strdup(entry->event);
	for (size_t i = ref->entries.len; i-- > 0;)
		if (strcmp(ref->entries.data[i].hash, entry->hash) == 0)
			store_ref_drop(ref, i, 1);
	if (ref->entries.len >= MAX_ENTRIES)
		store_ref_drop(ref, 0, 1);
	vec_push(&ref->entries, added);
}

/* ---- as text ---- */

static void store_ref_put_line(struct str *out, const char *key, const char *text)
{
	str_printf(out, "%s ", key);
	store_ref_put_word(out, text);
	str_putc(out, '\n');
}

void store_ref_encode(const struct store_ref *ref, struct str *out)
{
	str_printf(out, "%s\n", heading);
	store_ref_put_line(out, "job", ref->job);
	store_ref_put_line(out, "branch", ref->branch);
	store_ref_put_line(out, "cpu", ref->cpu_model);
	vec_each(&ref->entries, entry) {
		str_printf(out, "baseline %s %llu %llu %llu %llu ", entry->hash,
			(unsigned long long)entry->time_s, (unsigned long long)entry->runs,
			(unsigned long long)entry->samples, (unsigned long long)entry->bytes);
		store_ref_put_word(out, entry->event);
		str_putc(out, '\n');
	}
}

/* The words of a line, one after the other. */
struct words {
	const char *pos, *end;
	bool is_bad;
};

static struct words next_line(struct words *text)
{
	const char *end = text->pos;
	while (end < text->end && *end != '\n')
		end++;
	struct words line = {text->pos, end, end == text->end};
	text->pos = end < text->end ? end + 1 : end;
	return line;
}

static size_t next_word(struct words *line, const char **word)
{
	size_t len = 0;
	*word = line->pos;
	while (line->pos + len < line->end && line->pos[len] != ' ')
		len++;
	line->is_bad |= !len;
	line->pos += len;
	line->pos += line->pos < line->end;
	return len;
}

static bool is_next(struct words *line, const char *wanted)
{
	const char *word;
	size_t len = next_word(line, &word);
	return len == strlen(wanted) && memcmp(word, wanted, len) == 0;
}

static char *next_text(struct words *line)
{
	const char *word;
	size_t len = next_word(line, &word);
	char *text = take_word(word, len);
	line->is_bad |= !text;
	return text;
}

static uint64_t next_number(struct words *line)
{
	const char *word;
	size_t len = next_word(line, &word);
	uint64_t value = 0;
	line->is_bad |= len > 18;
	for (size_t i = 0; i < len && !line->is_bad; i++) {
		line->is_bad |= word[i] < '0' || word[i] > '9';
		value = value * 10 + (uint64_t)(word[i] - '0');
	}
	return value;
}

static void next_hash(struct words *line, char ret[SHA256_DIGITS + 1])
{
	const char *word;
	size_t len = next_word(line, &word);
	line->is_bad |= len != SHA256_DIGITS;
	for (size_t i = 0; i < len && !line->is_bad; i++) {
		bool is_digit = word[i] >= '0' && word[i] <= '9';
		line->is_bad |= !is_digit && (word[i] < 'a' || word[i] > 'f');
		ret[i] = word[i];
	}
}

static char *take_key(struct words *text, const char *key)
{
	struct words line = next_line(text);
	bool is_it = is_next(&line, key);
	char *value = next_text(&line);
	text->is_bad |= !is_it || line.is_bad || line.pos < line.end;
	return value;
}

static void store_ref_take_entry(struct words *text, struct store_ref *ref)
{
	struct words line = next_line(text);
	struct store_entry entry = {0};
	line.is_bad |= !is_next(&line, "baseline");
	next_hash(&line, entry.hash);
	entry.time_s = next_number(&line);
	entry.runs = next_number(&line);
	entry.samples = next_number(&line);
	entry.bytes = next_number(&line);
	entry.event = next_text(&line);
	text->is_bad |= line.is_bad || line.pos < line.end || ref->entries.len >= MAX_ENTRIES;
	vec_push(&ref->entries, entry);
}

struct err *store_ref_decode(const char *text, size_t len, struct store_ref *ret)
{
	struct words all = {text, text + len, false};
	struct words first = next_line(&all);
	struct store_ref ref = {0};
	size_t first_len = (size_t)(first.end - first.pos);
	if (first_len != strlen(heading) || memcmp(first.pos, heading, first_len) != 0)
		return err_new(ERR_FORMAT, "it does not begin with \"%s\"", heading);
	ref.job = take_key(&all, "job");
	ref.branch = take_key(&all, "branch");
	ref.cpu_model = take_key(&all, "cpu");
	while (all.pos < all.end && !all.is_bad)
		store_ref_take_entry(&all, &ref);
	if (all.is_bad) {
		store_ref_deinit(&ref);
		return err_new(ERR_FORMAT, "its lines are damaged");
	}
	*ret = ref;
	return NULL;
}
