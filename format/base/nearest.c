#include "format/base/nearest.h"

#include <string.h>

enum {
	MAX_WORD = 40, /* bytes; longer ones are like nothing */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters were mistyped: the distance of "optimal string alignment", row by row. The last
 * three rows are kept, since a swap looks back two.
 */
static size_t distance_between(const char *a, const char *b, size_t len_a, size_t len_b)
{
	size_t rows[3][MAX_WORD + 1];
	for (size_t j = 0; j <= len_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[len_a % 3][len_b];
}

struct nearest nearest_to(const char *wanted)
{
	return (struct nearest){.wanted = wanted};
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t len = strlen(word), wanted_len = strcspn(nearest->wanted, "=");
	if (len > MAX_WORD || wanted_len > MAX_WORD)
		return;
	size_t distance = distance_between(nearest->wanted, word, wanted_len, len);
	if (distance > (len + 1) / 3 || (nearest->word && distance >= nearest->distance))
		return;
	nearest->word = word;
	nearest->distance = distance;
}
