/*
 * Any bytes into the quantity parser. An accepted quantity must print to text that reads back as
 * the same value, and must sort as its rounded values do. The text prints the same again if it
 * determines the format ("2000" of a binary quantity does not: it reads back as decimal, "2k").
 */
#include "base/json/quantity.h"
#include "target.h"

static void check_round_trip(struct quantity q)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(256), second = BUF_INIT(256);
	struct quantity back;

	require(quantity_print(q, &first) == 0);
	require(quantity_parse(buf_str(&first), &back, NULL) == 0);
	require(quantity_cmp(q, back) == 0);
	require(quantity_print(back, &second) == 0);
	require(back.format != q.format || str_eq(buf_str(&first), buf_str(&second)));
}

/* Two quantities, apart by a newline. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_of(data, size), piece;
	struct quantity a, b;

	if (!str_split(&rest, '\n', &piece) || quantity_parse(piece, &a, NULL) < 0)
		return 0;
	check_round_trip(a);
	if (!str_split(&rest, '\n', &piece) || quantity_parse(piece, &b, NULL) < 0)
		return 0;
	check_round_trip(quantity_add(a, b));
	check_round_trip(quantity_sub(a, b));
	if (quantity_cmp(a, b) <= 0) {
		require(quantity_value(a) <= quantity_value(b));
		require(quantity_milli(a) <= quantity_milli(b));
	}
	return 0;
}
