/*
 * A short table of ranges is enough for names and messages.
 */
#include "cli/output/columns.h"

/*
 * The columns that a terminal uses for a character: East Asian and emoji two, combining ones none.
 */
static size_t rune_columns(uint32_t rune)
{
	static const struct {
		uint32_t first, last;
		size_t columns;
	} v[] = {
		{ 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },
		{ 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
		{ 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
		{ 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
		{ 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (rune >= v[i].first && rune <= v[i].last)
			return v[i].columns;
	return 1;
}

size_t columns_cut(struct str line, size_t width)
{
	size_t at = 0, next = 0, columns = 0;

	while (at < line.n) {
		columns += rune_columns(str_rune(line, &next));
		if (columns > width)
			break;
		at = next;
	}
	return at;
}
