#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_health/kmsg.h"

static struct kmsg_xid read_ok(struct str line)
{
	struct kmsg_xid x = { 0 };

	if (!kmsg_xid_read(line, &x))
		fail_msg("not read: %.*s", STR_ARG(line));
	return x;
}

static void a_record_has_gpu_xid_and_process(void **state)
{
	struct kmsg_xid x = read_ok(
		STR("4,1181,3151213,-;NVRM: Xid (PCI:0000:00:06): 31, pid=2307, "
		    "name=train, Ch 00000008, intr 00000000. MMU Fault\n"
		    " SUBSYSTEM=pci\n DEVICE=+pci:0000:00:06.0\n"));

	(void)state;
	assert_int_equal(x.xid, 31);
	assert_int_equal(x.pid, 2307);
	assert_true(str_eqz(x.name, "train"));
	assert_true(str_eqz(x.detail, "Ch 00000008, intr 00000000. MMU Fault"));
	assert_int_equal(x.seq, 1181);
	assert_int_equal(x.at_us, 3151213);
	assert_int_equal(x.pci.domain, 0);
	assert_int_equal(x.pci.bus, 0);
	assert_int_equal(x.pci.device, 6);
}

static void a_text_without_a_head_is_read_too(void **state)
{
	struct kmsg_xid x = read_ok(STR("NVRM: Xid (0001:3b:00): 79, GPU has fallen off the bus."));

	(void)state;
	assert_int_equal(x.xid, 79);
	assert_int_equal(x.pid, 0);
	assert_int_equal(x.name.n, 0);
	assert_int_equal(x.seq, 0);
	assert_int_equal(x.pci.domain, 1);
	assert_int_equal(x.pci.bus, 0x3b);
	assert_true(str_eqz(x.detail, "GPU has fallen off the bus."));
}

static void an_unknown_process_is_none(void **state)
{
	struct kmsg_xid x = read_ok(STR("NVRM: Xid (PCI:0000:00:06): 119, pid='<unknown>', "
					"name=<unknown>, Timeout after 6s"));

	(void)state;
	assert_int_equal(x.pid, 0);
	assert_int_equal(x.name.n, 0);
	assert_true(str_eqz(x.detail, "Timeout after 6s"));
	x = read_ok(STR("NVRM: Xid (PCI:0000:00:06): 43, pid='17', name='a b'"));
	assert_int_equal(x.pid, 17);
	assert_true(str_eqz(x.name, "a b"));
	assert_int_equal(x.detail.n, 0);
	x = read_ok(STR("NVRM: Xid (PCI:0000:00:06): 154"));
	assert_int_equal(x.xid, 154);
}

static void other_lines_are_not_xids(void **state)
{
	static const char *const lines[] = {
		"",
		"6,1,2,-;usb 1-1: new device",
		"NVRM: loading NVIDIA UNIX Open Kernel Module",
		"NVRM: Xid (PCI:0000:00:06) 31",
		"NVRM: Xid (PCI:zz:00:06): 31, pid=1",
		"NVRM: Xid (PCI:0000:00:06): x",
		"NVRM: Xid (PCI:0000:00:06): 99999999999999999999",
		"NVRM: Xid (PCI:0000:00:06): 31x",
		"4,1,2,-;name=x NVRM: Xid (PCI:0000:00:06): 31",
		"4,1,2,-;a;NVRM: Xid (PCI:0000:00:06): 31",
	};
	struct kmsg_xid x;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (kmsg_xid_read(str_from(lines[i]), &x))
			fail_msg("read: %s", lines[i]);
}

static void nvmls_bus_id_names_the_same_gpu(void **state)
{
	struct kmsg_pci a, b;

	(void)state;
	assert_true(kmsg_pci_read(STR("0000:00:06"), &a));
	assert_true(kmsg_pci_read(STR("00000000:00:06.0"), &b));
	assert_true(kmsg_pci_equal(&a, &b));
	assert_true(kmsg_pci_read(STR("0000:00:07.0"), &b));
	assert_false(kmsg_pci_equal(&a, &b));
	assert_false(kmsg_pci_read(STR("0000:00:06.0x"), &b));
	assert_false(kmsg_pci_read(STR("0000:00:06."), &b));
	assert_false(kmsg_pci_read(STR("00:06.0"), &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_has_gpu_xid_and_process),
		cmocka_unit_test(a_text_without_a_head_is_read_too),
		cmocka_unit_test(an_unknown_process_is_none),
		cmocka_unit_test(other_lines_are_not_xids),
		cmocka_unit_test(nvmls_bus_id_names_the_same_gpu),
	};

	return cmocka_run_group_tests_name("kmsg", tests, NULL, NULL);
}
