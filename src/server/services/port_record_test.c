/*
 * The text of the record of node ports.
 */
#include "server/services/port_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/compiler.h"

static size_t count(const struct port_set *ports)
{
	size_t n = 0;

	PORT_SET_FOREACH (port, ports)
		n++;
	return n;
}

static void expect_same(const char *text, size_t n)
{
	CLEANUP(arena_release) struct arena a;
	struct port_set ports;

	arena_init(&a, SIZE_MAX);
	assert_true(port_record_read(str_from(text), &ports));
	assert_int_equal(count(&ports), n);
	assert_string_equal(port_record_print(&ports, &a).p, text);
}

static void a_list_reads_as_it_prints(void **state UNUSED)
{
	expect_same("", 0);
	expect_same("30080", 1);
	expect_same("30080,30443-30450", 9);
	expect_same("1,3,63-65,127-128,65535", 8);
	expect_same("1-65535", 65535);
}

static void every_second_port_fits(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct port_set ports = { 0 }, back;
	struct str text;

	arena_init(&a, SIZE_MAX);
	for (int64_t port = 1; port <= PORT_SET_MAX; port += 2)
		port_set_add(&ports, port);
	text = port_record_print(&ports, &a);
	assert_true(port_record_read(text, &back));
	assert_memory_equal(&back, &ports, sizeof(ports));
}

static void an_invalid_list_has_no_ports(void **state UNUSED)
{
	static const char *const texts[] = {
		",",     "30080,",       ",30080",   "30080,,30081",
		"-",     "30080-",       "-30080",   "30080-30081-30082",
		"0",     "0-5",          "65536",    "65535-65536",
		"5-4",   "30080, 30081", "30080 ",   "+5",
		"x",     "0x10",         "30080\n",  "18446744073709551617",
		"7,7",   "30081,30080",  "1-5,3-8",  "1-65535,1-65535",
		"1,2,x", "30080;30081",  "\xd9\xa3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct port_set ports = { 0 };

		port_set_add(&ports, 7);
		if (port_record_read(str_from(texts[i]), &ports))
			fail_msg("\"%s\" was read", texts[i]);
		assert_int_equal(count(&ports), 0);
	}
}

static bool read_object(const char *text, struct port_set *ret_ports)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &tree, NULL), 0);
	return port_record_of(tree, ret_ports);
}

static void an_object_without_the_list_cannot_be_read(void **state UNUSED)
{
	struct port_set ports;

	assert_true(read_object("{\"data\":{\"taken\":\"30080\"}}", &ports));
	assert_true(port_set_has(&ports, 30080));
	assert_true(read_object("{\"data\":{\"taken\":\"\"}}", &ports));
	assert_false(read_object("{\"data\":{\"taken\":30080}}", &ports));
	assert_false(read_object("{\"data\":{\"other\":\"30080\"}}", &ports));
	assert_false(read_object("{}", &ports));
	assert_false(port_record_of(NULL, &ports));
	assert_int_equal(count(&ports), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_reads_as_it_prints),
		cmocka_unit_test(every_second_port_fits),
		cmocka_unit_test(an_invalid_list_has_no_ports),
		cmocka_unit_test(an_object_without_the_list_cannot_be_read),
	};

	return cmocka_run_group_tests_name("server/port_record", tests, NULL, NULL);
}
