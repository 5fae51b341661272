/*
 * The parsers of single values: times, durations, base64, numbers, addresses. The first byte
 * chooses one. A value that it accepts must be the same after it is printed and parsed again.
 */
#include <stdint.h>

#include "base/core/limits.h"
#include "base/text/base64.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "net/loop/addr.h"
#include "target.h"

static void try_timestamp(struct str text)
{
	char out[TIMESTAMP_SIZE];
	int64_t ns, again;

	if (timestamp_parse(text, &ns, NULL) < 0)
		return;
	require(timestamp_parse(timestamp_print(ns, TIMESTAMP_NANO, out), &again, NULL) == 0);
	require(again == ns);
}

static void try_duration(struct str text)
{
	char out[DURATION_SIZE];
	int64_t ns, again;

	if (duration_parse(text, &ns, NULL) < 0)
		return;
	require(duration_parse(duration_print(ns, out), &again, NULL) == 0);
	require(again == ns);
	(void)duration_print_age(ns, out);
}

/* Decoding is strict, so there is one text for each content. */
static void try_base64(struct str text, enum base64_form form)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf again = BUF_INIT(MIB);

	if (base64_decode(&bytes, text, form, NULL) < 0)
		return;
	require(base64_encode(&again, buf_str(&bytes), form) == 0);
	require(str_eq(buf_str(&again), text));
}

static void try_number(struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	int64_t v, again;

	if (!str_to_i64(text, &v))
		return;
	(void)buf_add_i64(&out, v);
	require(str_to_i64(buf_str(&out), &again) && again == v);
}

static void try_addr(struct str text)
{
	struct addr a, again;

	if (addr_parse(&a, text, 0, NULL) < 0)
		return;
	require(addr_parse(&again, str_from(a.text), 0, NULL) == 0);
	require(strcmp(a.text, again.text) == 0 && a.kind == again.kind && a.port == again.port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = str_dup(str_of(data + (size ? 1 : 0), size ? size - 1 : 0));
	struct str text = str_of(copy, size ? size - 1 : 0);

	switch (size ? data[0] % 10 : 0) {
	case 0:
		try_timestamp(text);
		break;
	case 1:
		try_duration(text);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		try_base64(text, (enum base64_form)(data[0] % 10 - 2));
		break;
	case 7:
		try_number(text);
		break;
	default:
		try_addr(text);
		break;
	}
	free(copy);
	return 0;
}
