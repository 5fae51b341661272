#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/roles/notify.h"

/* The service manager's side: a socket bound to `name` in the syntax of $NOTIFY_SOCKET. */
static int manager(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_true(strlen(name) < sizeof(at.sun_path));
	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void heard(int fd, const char *want)
{
	char got[64] = "";
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	assert_int_equal(n, strlen(want));
	assert_string_equal(got, want);
}

static void a_word_reaches_a_socket_of_a_path(void **state)
{
	char dir[] = "/tmp/notify-test.XXXXXX", path[64];
	struct notify n;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/notify", dir);
	fd = manager(path);
	notify_init(&n);
	notify_send(&n, "READY=1");
	notify_send(&n, "STOPPING=1");
	heard(fd, "READY=1");
	heard(fd, "STOPPING=1");
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	notify_send(&n, "READY=1"); /* the manager is gone: no effect */
}

static void a_word_reaches_an_abstract_socket(void **state)
{
	char name[64];
	struct notify n;
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@devplane-notify-test-%d", (int)getpid());
	fd = manager(name);
	notify_init(&n);
	notify_send(&n, "READY=1");
	heard(fd, "READY=1");
	(void)close(fd);
}

static void the_variable_is_not_handed_on(void **state)
{
	struct notify n;

	(void)state;
	assert_int_equal(setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1), 0);
	notify_init(&n);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_true(n.size > 0);
	notify_send(&n, "READY=1");
}

static void an_invalid_notify_socket_is_ignored(void **state)
{
	char longest[256];
	const char *names[] = { NULL, "", "@", "relative", "vsock:2:1234", longest };

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct notify n;

		if (names[i])
			assert_int_equal(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		notify_init(&n);
		assert_int_equal(n.size, 0);
		notify_send(&n, "READY=1");
	}
}

static void a_manager_that_does_not_read_holds_nothing_up(void **state)
{
	char name[64];
	struct notify n;
	int fd, got = 0;
	char byte[16];

	(void)state;
	(void)snprintf(name, sizeof(name), "@devplane-notify-full-%d", (int)getpid());
	fd = manager(name);
	notify_init(&n);
	for (int i = 0; i < 10000; i++)
		notify_send(&n, "READY=1");
	while (recv(fd, byte, sizeof(byte), 0) > 0)
		got++;
	assert_true(got > 0 && got < 10000);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_reaches_a_socket_of_a_path),
		cmocka_unit_test(a_word_reaches_an_abstract_socket),
		cmocka_unit_test(the_variable_is_not_handed_on),
		cmocka_unit_test(an_invalid_notify_socket_is_ignored),
		cmocka_unit_test(a_manager_that_does_not_read_holds_nothing_up),
	};

	return cmocka_run_group_tests_name("cli/notify", tests, NULL, NULL);
}
