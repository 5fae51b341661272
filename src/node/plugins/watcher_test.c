/*
 * The watcher on real folders and a real loop; and the agent's own socket, which is recreated. Each
 * step runs the loop until the expected event has come: nothing here measures time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/system/folder_fixture.h"
#include "net/loop/loop.h"
#include "node/plugins/plugins.h"
#include "node/plugins/watcher.h"

struct test {
	struct loop *loop;
	struct plugin_watcher *watcher;
	char dir[64], path[256];
	struct buf lines; /* "+a.sock -b.sock " */
	const char *wanted; /* stops the loop when the lines equal this */
	unsigned problems;
};

static void note(struct test *t, char sign, struct str path)
{
	(void)buf_printf(&t->lines, "%c%.*s ", sign, STR_ARG(str_skip(path, strlen(t->dir) + 3)));
	if (t->wanted && str_eqz(buf_str(&t->lines), t->wanted))
		loop_stop(t->loop);
}

static void on_socket(void *arg, struct str path)
{
	note(arg, '+', path);
}

static void on_gone(void *arg, struct str path)
{
	note(arg, '-', path);
}

static void on_problem(void *arg, const struct error *err UNUSED)
{
	((struct test *)arg)->problems++;
}

/* Runs until the events equal this. */
static void expect(struct test *t, const char *lines)
{
	t->wanted = lines;
	if (!str_eqz(buf_str(&t->lines), lines))
		loop_run(t->loop);
	assert_string_equal(t->lines.p, lines);
	buf_clear(&t->lines);
}

/* Borrowed until the next one. */
static const char *path_in(struct test *t, const char *name)
{
	(void)snprintf(t->path, sizeof(t->path), "%s/r/%s", t->dir, name);
	return t->path;
}

static void name_socket(struct sockaddr_un *sun, const char *path)
{
	assert_true(strlen(path) < sizeof(sun->sun_path));
	memcpy(sun->sun_path, path, strlen(path) + 1);
}

/* A real socket; the file stays when it is closed. */
static void bind_socket(struct test *t, const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	name_socket(&sun, path_in(t, name));
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	(void)close(fd);
}

static void touch_file(struct test *t, const char *name)
{
	FILE *f = fopen(path_in(t, name), "w");

	assert_non_null(f);
	(void)fclose(f);
}

static int set_up(void **state)
{
	struct test *t = XNEW(struct test);

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/watcher_XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	assert_int_equal(mkdir(path_in(t, ""), 0700), 0);
	buf_init(&t->lines, 64 * 1024);
	assert_int_equal(loop_new(&t->loop, NULL), 0);
	*state = t;
	return 0;
}

static void stop_task(struct loop_timer *timer)
{
	loop_stop(timer->loop);
}

/* Lets deferred work and closing handles finish. */
static void spin(struct loop *l)
{
	struct loop_timer timer;

	loop_timer_init(&timer, l, stop_task);
	loop_timer_start(&timer, 1);
	loop_run(l);
}

static int tear_down(void **state)
{
	struct test *t = *state;

	plugin_watcher_free(t->watcher);
	spin(t->loop);
	loop_free(t->loop);
	buf_release(&t->lines);
	folder_fixture_remove(t->dir);
	free(t);
	return 0;
}

static void start(struct test *t)
{
	char dir[128];
	struct plugin_watcher_opts opts = { .loop = t->loop,
					    .dir = dir,
					    .on_socket = on_socket,
					    .on_gone = on_gone,
					    .on_problem = on_problem,
					    .arg = t };

	(void)snprintf(dir, sizeof(dir), "%s/r", t->dir);
	t->watcher = plugin_watcher_new(&opts);
}

static void sockets_come_and_go(void **state)
{
	struct test *t = *state;

	bind_socket(t, "a.sock");
	start(t);
	expect(t, "+a.sock ");
	bind_socket(t, "b.sock");
	expect(t, "+b.sock ");
	assert_int_equal(unlink(path_in(t, "a.sock")), 0);
	expect(t, "-a.sock ");
	assert_int_equal(t->problems, 0);
}

static void a_socket_made_anew_is_gone_and_there(void **state)
{
	struct test *t = *state;

	bind_socket(t, "a.sock");
	start(t);
	expect(t, "+a.sock ");
	/* Before the next scan: the inode number is often reused. */
	assert_int_equal(unlink(path_in(t, "a.sock")), 0);
	bind_socket(t, "a.sock");
	expect(t, "-a.sock +a.sock ");
}

static void a_change_of_mode_is_no_new_socket(void **state)
{
	struct test *t = *state;

	bind_socket(t, "a.sock");
	start(t);
	expect(t, "+a.sock ");
	assert_int_equal(chmod(path_in(t, "a.sock"), 0777), 0);
	bind_socket(t, "b.sock");
	expect(t, "+b.sock ");
}

static void folders_are_followed_as_they_come_and_go(void **state)
{
	struct test *t = *state;

	assert_int_equal(mkdir(path_in(t, "x"), 0700), 0);
	bind_socket(t, "x/a.sock");
	start(t);
	expect(t, "+x/a.sock ");
	assert_int_equal(mkdir(path_in(t, "y"), 0700), 0);
	assert_int_equal(mkdir(path_in(t, "y/z"), 0700), 0);
	bind_socket(t, "y/z/b.sock");
	expect(t, "+y/z/b.sock ");
	bind_socket(t, "y/z/c.sock");
	expect(t, "+y/z/c.sock ");
	assert_int_equal(unlink(path_in(t, "x/a.sock")), 0);
	assert_int_equal(rmdir(path_in(t, "x")), 0);
	expect(t, "-x/a.sock ");
	/* The same name again, but another folder. */
	assert_int_equal(mkdir(path_in(t, "x"), 0700), 0);
	spin(t->loop);
	bind_socket(t, "x/a.sock");
	expect(t, "+x/a.sock ");
}

static void hidden_files_and_other_than_sockets_are_ignored(void **state)
{
	struct test *t = *state;

	touch_file(t, "plain");
	bind_socket(t, ".hidden.sock");
	assert_int_equal(mkdir(path_in(t, ".dir"), 0700), 0);
	bind_socket(t, ".dir/a.sock");
	assert_int_equal(symlink("/tmp", path_in(t, "link")), 0);
	bind_socket(t, "a.sock");
	start(t);
	expect(t, "+a.sock ");
	touch_file(t, "later");
	bind_socket(t, "b.sock");
	expect(t, "+b.sock ");
}

static void the_folder_itself_may_vanish(void **state)
{
	struct test *t = *state;
	struct stat st;

	bind_socket(t, "a.sock");
	start(t);
	expect(t, "+a.sock ");
	assert_int_equal(unlink(path_in(t, "a.sock")), 0);
	assert_int_equal(rmdir(path_in(t, "")), 0);
	expect(t, "-a.sock ");
	while (stat(path_in(t, ""), &st) < 0)
		spin(t->loop);
	bind_socket(t, "b.sock");
	expect(t, "+b.sock ");
}

static void a_missing_folder_of_another_process_is_an_error_until_it_comes(void **state)
{
	struct test *t = *state;
	char dir[128];
	struct plugin_watcher_opts opts = { .loop = t->loop,
					    .dir = dir,
					    .foreign = true,
					    .on_socket = on_socket,
					    .on_gone = on_gone,
					    .on_problem = on_problem,
					    .arg = t };
	struct error err;

	(void)snprintf(dir, sizeof(dir), "%s/r", t->dir);
	assert_int_equal(rmdir(dir), 0);
	t->watcher = plugin_watcher_new(&opts);
	assert_int_equal(plugin_watcher_check(t->watcher, &err), -ERR_UNAVAILABLE);
	spin(t->loop);
	assert_int_equal(plugin_watcher_check(t->watcher, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, dir));
	assert_int_equal(mkdir(dir, 0700), 0);
	bind_socket(t, "a.sock");
	expect(t, "+a.sock ");
	assert_int_equal(plugin_watcher_check(t->watcher, &err), 0);
	assert_int_equal(t->problems, 0);
}

/* --- kubelet.sock -------------------------------------------------------------------- */

static bool answers(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	name_socket(&sun, path);
	r = connect(fd, (struct sockaddr *)&sun, sizeof(sun));
	(void)close(fd);
	return r == 0;
}

static void on_closed(void *arg)
{
	loop_stop(arg);
}

static void the_agents_socket_comes_back_when_somebody_deletes_it(void **state)
{
	struct test *t = *state;
	const struct plugins_events events = { 0 };
	struct plugins_opts opts = { .loop = t->loop, .root_dir = t->dir, .events = &events };
	char path[256], dir[128];
	struct plugins *p = NULL;
	struct stat st;

	(void)snprintf(dir, sizeof(dir), "%s/device-plugins", t->dir);
	(void)snprintf(path, sizeof(path), "%s/kubelet.sock", dir);
	assert_int_equal(plugins_new(&opts, &p, NULL), 0);
	assert_true(answers(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	spin(t->loop);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(unlink(path), 0);
		while (!answers(path))
			spin(t->loop);
		spin(t->loop);
	}
	folder_fixture_remove(dir);
	while (!answers(path))
		spin(t->loop);
	plugins_close(p, on_closed, t->loop);
	loop_run(t->loop);
	assert_false(answers(path));
	assert_int_equal(stat(path, &st), -1);
}

static void the_socket_of_another_agent_is_left_alone(void **state)
{
	struct test *t = *state;
	const struct plugins_events events = { 0 };
	struct plugins_opts opts = { .loop = t->loop, .root_dir = t->dir, .events = &events };
	char path[128];
	struct plugins *first = NULL, *second = NULL;

	(void)snprintf(path, sizeof(path), "%s/device-plugins/kubelet.sock", t->dir);
	assert_int_equal(plugins_new(&opts, &first, NULL), 0);
	spin(t->loop);
	/* As upstream, the later one takes the folder over; the first does not fight for it. */
	assert_int_equal(plugins_new(&opts, &second, NULL), 0);
	spin(t->loop);
	spin(t->loop);
	plugins_close(first, on_closed, t->loop);
	loop_run(t->loop);
	assert_true(answers(path));
	plugins_close(second, on_closed, t->loop);
	loop_run(t->loop);
	assert_false(answers(path));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sockets_come_and_go),
		TEST(a_socket_made_anew_is_gone_and_there),
		TEST(a_change_of_mode_is_no_new_socket),
		TEST(folders_are_followed_as_they_come_and_go),
		TEST(hidden_files_and_other_than_sockets_are_ignored),
		TEST(the_folder_itself_may_vanish),
		TEST(a_missing_folder_of_another_process_is_an_error_until_it_comes),
		TEST(the_agents_socket_comes_back_when_somebody_deletes_it),
		TEST(the_socket_of_another_agent_is_left_alone),
	};

	return cmocka_run_group_tests_name("node/plugin_watcher", tests, NULL, NULL);
}
