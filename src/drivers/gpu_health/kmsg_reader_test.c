/* A pipe that keeps the borders of writes stands for the kernel's log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "drivers/gpu_health/kmsg_reader.h"
#include "net/loop/loop.h"

struct world {
	int ends[2];
	struct loop *loop;
	struct kmsg_reader *reader;
	uint32_t xids[256];
	size_t n, stop_at;
	bool free_in_callback;
};

static int setup(void **state)
{
	static struct world w;

	w = (struct world){ .stop_at = 1 };
	*state = &w;
	return pipe2(w.ends, O_DIRECT | O_CLOEXEC) < 0 ? -1 : loop_new(&w.loop, NULL);
}

static int teardown(void **state)
{
	struct world *w = *state;

	kmsg_reader_free(w->reader);
	(void)close(w->ends[0]);
	(void)close(w->ends[1]);
	loop_free(w->loop);
	return 0;
}

static void on_xid(void *arg, const struct kmsg_xid *xid)
{
	struct world *w = arg;

	w->xids[w->n++] = xid->xid;
	if (w->free_in_callback) {
		kmsg_reader_free(w->reader);
		w->reader = NULL;
	}
	if (w->n >= w->stop_at)
		loop_stop(w->loop);
}

static void open_reader(struct world *w)
{
	struct error err = { .msg = "" };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", w->ends[0]);
	if (kmsg_reader_new(w->loop, path, on_xid, w, &w->reader, &err) < 0)
		fail_msg("%s", err.msg);
}

static void put(struct world *w, const char *record)
{
	assert_int_equal(write(w->ends[1], record, strlen(record)), strlen(record));
}

static void xids_are_reported_and_other_records_are_not(void **state)
{
	struct world *w = *state;

	open_reader(w);
	put(w, "6,1,10,-;usb 1-1: new device\n SUBSYSTEM=usb\n");
	put(w, "4,2,20,-;NVRM: Xid (PCI:0000:00:06): 31, pid=7, name=a\n");
	put(w, "6,3,30,-;eth0: link up\n");
	put(w, "4,4,40,-;NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus.\n");
	w->stop_at = 2;
	loop_run(w->loop);
	assert_int_equal(w->n, 2);
	assert_int_equal(w->xids[0], 31);
	assert_int_equal(w->xids[1], 79);
}

static void more_records_than_a_turn_reads_all_arrive(void **state)
{
	struct world *w = *state;
	char record[96];

	open_reader(w);
	w->stop_at = 200;
	/* A pipe of this kind holds 16 records. */
	assert_true(fcntl(w->ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
	for (int i = 0; i < 200; i++) {
		(void)snprintf(record, sizeof(record), "4,1,1,-;NVRM: Xid (PCI:0000:00:06): %d", i);
		put(w, record);
	}
	loop_run(w->loop);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(w->xids[i], i);
}

static void the_callback_may_free_the_reader(void **state)
{
	struct world *w = *state;

	open_reader(w);
	w->free_in_callback = true;
	put(w, "4,2,20,-;NVRM: Xid (PCI:0000:00:06): 31, pid=7, name=a\n");
	put(w, "4,2,20,-;NVRM: Xid (PCI:0000:00:06): 32, pid=7, name=a\n");
	loop_run(w->loop);
	assert_int_equal(w->n, 1);
}

static void a_missing_log_is_named(void **state)
{
	struct world *w = *state;
	struct error err = { .msg = "" };

	assert_int_equal(kmsg_reader_new(w->loop, "/nonexistent", on_xid, w, &w->reader, &err),
			 -ERR_IO);
	assert_non_null(strstr(err.msg, "cannot open the kernel's log /nonexistent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(xids_are_reported_and_other_records_are_not, setup,
						teardown),
		cmocka_unit_test_setup_teardown(more_records_than_a_turn_reads_all_arrive, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_callback_may_free_the_reader, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_log_is_named, setup, teardown),
	};

	return cmocka_run_group_tests_name("kmsg_reader", tests, NULL, NULL);
}
