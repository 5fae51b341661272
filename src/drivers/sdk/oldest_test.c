/*
 * A driver that was built with the first released header, on today's SDK. tests/abi/driver_1_0.h is
 * a copy of that header that never changes. The bytes behind its structs would make today's members
 * invalid if the SDK read them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "driver_1_0.h"

enum { JUNK = 0x5a, BEHIND = 512 };

/* One struct of the old header, followed by bytes that are not its. */
#define BEFORE_JUNK(type)            \
	struct {                     \
		type v;              \
		char behind[BEHIND]; \
	}

static int oldest_prepare(void *arg, struct dp_claim *c)
{
	(void)arg;
	(void)c;
	return 0;
}

static struct dp_driver *oldest_driver(void)
{
	BEFORE_JUNK(struct dp_driver_config) config;
	struct dp_driver *d = NULL;
	char message[256] = "";

	memset(&config, JUNK, sizeof(config));
	config.v = (struct dp_driver_config){ .size = sizeof(config.v),
					      .abi = DP_DRIVER_ABI,
					      .name = "old.example.com",
					      .node_name = "node-1",
					      .cdi_dir = "/tmp",
					      .prepare = oldest_prepare };
	if (dp_driver_new(&config.v, &d, message, sizeof(message)) < 0)
		fail_msg("%s", message);
	return d;
}

static void a_driver_of_the_first_header_lists_its_devices(void **state)
{
	struct dp_attribute attributes[2] = {
		{ sizeof(attributes[0]), DP_STRING, "model", "A", 0 },
		{ sizeof(attributes[0]), DP_INT, "index", NULL, 1 },
	};
	struct dp_capacity capacity[2] = { { sizeof(capacity[0]), 0, "memory", "40Gi" },
					   { sizeof(capacity[0]), 0, "cores", "4" } };
	struct dp_taint taints[2] = { { sizeof(taints[0]), 0, "a.example.com/b", NULL, "None" },
				      { sizeof(taints[0]), 0, "c", "d", "NoSchedule" } };
	struct dp_device devices[3];
	struct dp_driver *d = oldest_driver();
	char message[256] = "";

	(void)state;
	for (int i = 0; i < 3; i++)
		devices[i] = (struct dp_device){ .size = sizeof(devices[i]),
						 .name = i == 0   ? "a"
							 : i == 1 ? "b"
								  : "c",
						 .attributes = attributes,
						 .nattributes = 2,
						 .capacity = capacity,
						 .ncapacity = 2,
						 .taints = taints,
						 .ntaints = 2,
						 .has_numa = JUNK,
						 .numa = JUNK };
	if (dp_driver_set_devices(d, devices, 3, message, sizeof(message)) < 0)
		fail_msg("%s", message);
	dp_driver_free(d);
}

static void edits_of_the_first_header_are_read_to_their_end(void **state)
{
	BEFORE_JUNK(struct dp_edits) edits;
	struct dp_node nodes[2] = { { sizeof(nodes[0]), 0, "/dev/a", NULL, NULL },
				    { sizeof(nodes[0]), 0, "/dev/b", "/dev/c", "rw" } };
	struct dp_driver *d = oldest_driver();
	char id[256], message[256] = "";

	(void)state;
	memset(&edits, JUNK, sizeof(edits));
	edits.v = (struct dp_edits){ .size = sizeof(edits.v), .nnodes = 2, .nodes = nodes };
	if (dp_driver_write_cdi(d, "oldest", &edits.v, id, sizeof(id), message, sizeof(message)) <
	    0)
		fail_msg("%s", message);
	assert_string_equal(id, "k8s.old.example.com/device=oldest");
	assert_int_equal(dp_driver_remove_cdi(d, "oldest"), 0);
	dp_driver_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_driver_of_the_first_header_lists_its_devices),
		cmocka_unit_test(edits_of_the_first_header_are_read_to_their_end),
	};

	return cmocka_run_group_tests_name("drivers/sdk_oldest", tests, NULL, NULL);
}
