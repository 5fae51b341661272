/*
 * Any text as the record of node ports. An accepted record prints to text that reads back as the
 * same ports, and prints the same again. A rejected record has no ports.
 */
#include "server/services/port_record.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct port_set ports, back;
	struct str text;

	arena_init(&a, SIZE_MAX);
	if (!port_record_read(str_of(data, size), &ports)) {
		require(port_set_empty(&ports));
		return 0;
	}
	text = port_record_print(&ports, &a);
	require(port_record_read(text, &back));
	require(memcmp(&ports, &back, sizeof(ports)) == 0);
	require(str_eq(port_record_print(&back, &a), text));
	return 0;
}
