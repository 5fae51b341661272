/*
 * Any text as a line of the kernel's log, as Xid rules, and as the file of GPUs' health. Pieces of
 * a line are within it; a book that was read is the same after it is written and read back.
 */
#include "drivers/drivers_limits.h"
#include "drivers/gpu_health/book.h"
#include "drivers/gpu_health/kmsg.h"
#include "drivers/gpu_health/rules.h"
#include "target.h"

static void check_within(struct str piece, struct str line)
{
	require(piece.n == 0 || (piece.p >= line.p && piece.p + piece.n <= line.p + line.n));
}

static void check_line(struct str line)
{
	struct kmsg_xid x;

	if (!kmsg_xid_read(line, &x))
		return;
	check_within(x.name, line);
	check_within(x.detail, line);
	require(x.pci.bus <= 0xff && x.pci.device <= 0xff && x.pid <= INT32_MAX);
}

static void check_rules(struct str text)
{
	struct xid_rules *r = xid_rules_new();
	struct error err = { .msg = "" };

	if (xid_rules_add(r, text, &err) < 0)
		require(err.code == ERR_INVALID && err.msg[0] != 0);
	for (uint32_t xid = 0; xid < 200; xid++) {
		const struct xid_rule *rule = xid_rules_find(r, xid);

		require(rule->first <= xid && xid <= rule->last);
		require(xid_class_name(rule->class) && rule->text[0] && rule->action[0]);
	}
	xid_rules_free(r);
}

static void check_book(struct str text)
{
	struct buf first = BUF_INIT(GPU_BOOK_FILE_MAX), second = BUF_INIT(GPU_BOOK_FILE_MAX);
	struct gpu_health_book *b = gpu_health_book_new(), *again = gpu_health_book_new();
	struct error err = { .msg = "" };

	if (gpu_health_book_parse(b, text, "b", &err) < 0)
		require(err.code == ERR_INVALID && err.msg[0] != 0);
	require(gpu_health_book_print(b, "b", &first, NULL) == 0);
	require(gpu_health_book_parse(again, buf_str(&first), "b", NULL) == 0);
	require(gpu_health_book_print(again, "b", &second, NULL) == 0);
	require(str_eq(buf_str(&first), buf_str(&second)));
	buf_release(&first);
	buf_release(&second);
	gpu_health_book_free(b);
	gpu_health_book_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size);

	check_line(text);
	check_rules(text);
	check_book(text);
	return 0;
}
