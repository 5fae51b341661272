/*
 * Plain sockets ask, so that they can also ask badly and vanish; the driver is this file.
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

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/cni/nic_socket.h"
#include "net/loop/loop.h"

enum { ASKS = 4 };

struct world {
	char root[64];
	struct buf path;
	struct loop *loop;
	struct nic_socket *socket;
	struct loop_timer tick; /* looks whether what is waited for has come */
	bool (*ready)(struct world *w);

	struct nic_ask *asks[ASKS];
	const struct nic_question *questions[ASKS];
	size_t nasks, gone;
	bool answer_at_once, stopped;

	int client; /* or -1 */
	char answer[8192];
	size_t nanswer;
};

static void on_question(void *arg, struct nic_ask *ask, const struct nic_question *q)
{
	struct world *w = arg;

	if (w->answer_at_once) {
		nic_ask_answer(ask, "[{\"name\":\"net1\"}]");
		return;
	}
	assert_in_range(w->nasks, 0, ASKS - 1);
	w->questions[w->nasks] = q;
	w->asks[w->nasks++] = ask;
}

static void on_gone(void *arg, struct nic_ask *ask)
{
	struct world *w = arg;

	assert_ptr_equal(ask, w->asks[0]);
	w->gone++;
}

static void on_list(void *arg UNUSED, struct json_writer *out)
{
	json_writer_begin_array(out);
	json_writer_strz(out, "eth7");
	json_writer_end_array(out);
}

static struct nic_socket_opts opts_of(struct world *w)
{
	return (struct nic_socket_opts){ .loop = w->loop,
					 .path = w->path.p,
					 .on_question = on_question,
					 .on_gone = on_gone,
					 .on_list = on_list,
					 .arg = w };
}

static void on_tick(struct loop_timer *t)
{
	struct world *w = CONTAINER_OF(t, struct world, tick);

	if (w->ready(w))
		loop_stop(w->loop);
	else
		loop_timer_start(t, 1);
}

static void wait_until(struct world *w, bool (*ready)(struct world *w))
{
	w->ready = ready;
	loop_timer_start(&w->tick, 0);
	loop_run(w->loop);
}

static int set_up(void **state)
{
	struct world *w = XNEW(struct world);
	struct nic_socket_opts o;
	struct error err;

	(void)snprintf(w->root, sizeof(w->root), "/tmp/nic-socket-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	buf_init(&w->path, 4 * KIB);
	assert_int_equal(nic_socket_path(w->root, "net.example.com", &w->path, &err), 0);
	assert_int_equal(loop_new(&w->loop, &err), 0);
	loop_timer_init(&w->tick, w->loop, on_tick);
	o = opts_of(w);
	assert_int_equal(nic_socket_new(&o, &w->socket, &err), 0);
	w->client = -1;
	*state = w;
	return 0;
}

static bool is_stopped(struct world *w)
{
	return w->stopped;
}

static void on_stopped(void *arg)
{
	((struct world *)arg)->stopped = true;
}

static void stop(struct world *w)
{
	nic_socket_stop(w->socket, on_stopped, w);
	wait_until(w, is_stopped);
	nic_socket_free(w->socket);
	w->socket = NULL;
}

static void remove_folders(const struct world *w)
{
	char path[256];

	(void)unlink(w->path.p);
	(void)snprintf(path, sizeof(path), "%s/plugins/net.example.com", w->root);
	assert_int_equal(rmdir(path), 0);
	(void)snprintf(path, sizeof(path), "%s/plugins", w->root);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(w->root), 0);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	if (w->client >= 0)
		(void)close(w->client);
	if (w->socket)
		stop(w);
	loop_free(w->loop);
	remove_folders(w);
	buf_release(&w->path);
	free(w);
	return 0;
}

/* --- asking ------------------------------------------------------------------------------- */

static void say(struct world *w, const char *method, const char *target, const char *body)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char request[4096];
	int n;

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", w->path.p);
	w->nanswer = 0;
	w->client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&sa, sizeof(sa)), 0);
	n = snprintf(
		request, sizeof(request),
		"%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
		method, target, strlen(body), body);
	assert_int_equal(write(w->client, request, (size_t)n), n);
}

static void hang_up(struct world *w)
{
	(void)close(w->client);
	w->client = -1;
}

/* True at the end of the answer, which the server marks by closing. */
static bool heard_all(struct world *w)
{
	ssize_t n = recv(w->client, w->answer + w->nanswer, sizeof(w->answer) - 1 - w->nanswer,
			 MSG_DONTWAIT);

	if (n > 0)
		w->nanswer += (size_t)n;
	w->answer[w->nanswer] = 0;
	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void expect(struct world *w, int status, const char *body)
{
	char head[32];
	const char *got;

	wait_until(w, heard_all);
	hang_up(w);
	(void)snprintf(head, sizeof(head), "HTTP/1.1 %d ", status);
	assert_memory_equal(w->answer, head, strlen(head));
	got = strstr(w->answer, "\r\n\r\n");
	assert_non_null(got);
	assert_string_equal(got + 4, body);
}

static bool is_asked(struct world *w)
{
	return w->nasks > 0;
}

static bool is_gone(struct world *w)
{
	return w->gone > 0;
}

/* --- tests -------------------------------------------------------------------------------- */

static void the_socket_is_root_s_alone(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(w->path.p, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_question_has_all_that_the_asker_says(void **state)
{
	struct world *w = *state;
	const struct nic_question *q;

	say(w, "POST", "/add",
	    "{\"containerID\":\"c1\",\"netns\":\"/var/run/netns/x\",\"ifname\":\"eth0\","
	    "\"podUID\":\"u\",\"podName\":\"p\",\"podNamespace\":\"ns\",\"path\":\"/a:/b\","
	    "\"network\":\"blue\"}");
	wait_until(w, is_asked);
	q = w->questions[0];
	assert_int_equal(q->command, CNI_ADD);
	assert_string_equal(q->container_id, "c1");
	assert_string_equal(q->netns, "/var/run/netns/x");
	assert_string_equal(q->ifname, "eth0");
	assert_string_equal(q->path, "/a:/b");
	assert_string_equal(q->pod_uid, "u");
	assert_string_equal(q->pod_name, "p");
	assert_string_equal(q->pod_namespace, "ns");
	assert_string_equal(q->network, "blue");
	assert_null(q->valid);
	nic_ask_answer(w->asks[0], NULL);
	expect(w, 200, "{\"interfaces\":[]}\n");
	assert_int_equal(w->gone, 0);
}

static void an_answer_may_come_at_once(void **state)
{
	struct world *w = *state;

	w->answer_at_once = true;
	say(w, "POST", "/check", "{}");
	expect(w, 200, "{\"interfaces\":[{\"name\":\"net1\"}]}\n");
}

static void a_refusal_has_the_code_and_the_words(void **state)
{
	struct world *w = *state;

	say(w, "POST", "/del", "{\"containerID\":\"c1\"}");
	wait_until(w, is_asked);
	assert_int_equal(w->questions[0]->command, CNI_DEL);
	assert_string_equal(w->questions[0]->netns, "");
	/* Words may be the question's own. */
	nic_ask_refuse(w->asks[0], CNI_UNKNOWN_CONTAINER, w->questions[0]->container_id);
	expect(w, 422, "{\"code\":3,\"message\":\"c1\"}\n");
	say(w, "GET", "/status", "");
	w->nasks = 0;
	wait_until(w, is_asked);
	assert_int_equal(w->questions[0]->command, CNI_STATUS);
	nic_ask_refuse(w->asks[0], CNI_NOT_AVAILABLE, "not \"yet\"");
	expect(w, 503, "{\"code\":50,\"message\":\"not \\\"yet\\\"\"}\n");
}

static void gc_has_its_list(void **state)
{
	struct world *w = *state;

	say(w, "POST", "/gc",
	    "{\"network\":\"n\",\"valid\":[{\"containerID\":\"c1\",\"ifname\":\"eth0\"}]}");
	wait_until(w, is_asked);
	assert_string_equal(w->questions[0]->network, "n");
	assert_int_equal(json_count(w->questions[0]->valid), 1);
	assert_true(str_eqz(json_text_at(json_at(w->questions[0]->valid, 0), "containerID"), "c1"));
	nic_ask_answer(w->asks[0], NULL);
	expect(w, 200, "{\"interfaces\":[]}\n");
}

static void bad_questions_reach_nobody(void **state)
{
	static const struct {
		const char *method, *target, *body, *answer;
		int status;
	} v[] = {
		{ "POST", "/add", "[]",
		  "{\"code\":6,\"message\":\"the request must be an object\"}\n", 400 },
		{ "POST", "/add", "{\"netns\":1}",
		  "{\"code\":6,\"message\":\"netns: must be text\"}\n", 400 },
		{ "POST", "/del", "{\"podUID\":\"a\\u0000b\"}",
		  "{\"code\":6,\"message\":\"podUID: must be text\"}\n", 400 },
		{ "POST", "/gc", "{\"network\":\"n\"}",
		  "{\"code\":6,\"message\":\"valid: must be a list\"}\n", 400 },
		{ "POST", "/gc", "{\"network\":\"n\",\"valid\":null}",
		  "{\"code\":6,\"message\":\"valid: must be a list\"}\n", 400 },
		{ "POST", "/gc", "{\"valid\":[]}",
		  "{\"code\":6,\"message\":\"network: must be set\"}\n", 400 },
		{ "POST", "/gc", "{\"network\":\"n\",\"valid\":[{\"containerID\":\"c1\"}]}",
		  "{\"code\":6,\"message\":\"valid: must be a list of {\\\"containerID\\\", "
		  "\\\"ifname\\\"}\"}\n",
		  400 },
		{ "POST", "/remove", "{}",
		  "{\"code\":100,\"message\":\"there is POST /add, /del, /check and /gc, GET "
		  "/status "
		  "and /devices\"}\n",
		  404 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		say(w, v[i].method, v[i].target, v[i].body);
		expect(w, v[i].status, v[i].answer);
	}
	say(w, "POST", "/add", "{\"netns\":");
	wait_until(w, heard_all);
	assert_memory_equal(w->answer, "HTTP/1.1 400 ", 13);
	assert_non_null(strstr(w->answer, "{\"code\":6,"));
	assert_int_equal(w->nasks, 0);
}

static void devices_are_listed(void **state)
{
	struct world *w = *state;

	say(w, "GET", "/devices", "");
	expect(w, 200, "[\"eth7\"]\n");
}

static void a_reply_after_the_caller_hung_up_is_harmless(void **state)
{
	struct world *w = *state;

	say(w, "POST", "/add", "{\"containerID\":\"c1\"}");
	wait_until(w, is_asked);
	hang_up(w);
	wait_until(w, is_gone);
	assert_string_equal(w->questions[0]->container_id, "c1");
	nic_ask_answer(w->asks[0], NULL);
	/* The socket goes on. */
	w->answer_at_once = true;
	say(w, "POST", "/add", "{}");
	expect(w, 200, "{\"interfaces\":[{\"name\":\"net1\"}]}\n");
}

static bool refuses_connections(struct world *w)
{
	return access(w->path.p, F_OK) < 0;
}

static void stopping_waits_for_answers(void **state)
{
	struct world *w = *state;

	say(w, "POST", "/add", "{}");
	wait_until(w, is_asked);
	nic_socket_stop(w->socket, on_stopped, w);
	assert_true(refuses_connections(w));
	assert_false(w->stopped);
	nic_ask_refuse(w->asks[0], CNI_TRY_AGAIN, "the net driver stops");
	expect(w, 503, "{\"code\":11,\"message\":\"the net driver stops\"}\n");
	wait_until(w, is_stopped);
	nic_socket_free(w->socket);
	w->socket = NULL;
}

static void an_unanswered_question_outlives_the_socket(void **state)
{
	struct world *w = *state;

	say(w, "POST", "/add", "{\"podUID\":\"u\"}");
	wait_until(w, is_asked);
	hang_up(w);
	wait_until(w, is_gone);
	stop(w);
	assert_string_equal(w->questions[0]->pod_uid, "u");
	nic_ask_refuse(w->asks[0], CNI_TRY_AGAIN, "too late");
}

static void a_dead_driver_s_socket_is_replaced_a_living_one_s_not(void **state)
{
	struct world *w = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct nic_socket_opts o = opts_of(w);
	struct nic_socket *second = NULL;
	struct error err;
	int fd;

	assert_int_equal(nic_socket_new(&o, &second, &err), -ERR_ALREADY_EXISTS);
	stop(w);
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", w->path.p);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	(void)close(fd);
	assert_int_equal(access(w->path.p, F_OK), 0);
	w->stopped = false;
	assert_int_equal(nic_socket_new(&o, &w->socket, &err), 0);
	say(w, "GET", "/devices", "");
	expect(w, 200, "[\"eth7\"]\n");
}

static void a_path_that_the_kernel_does_not_take_is_refused(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	char root[200];
	struct error err;

	memset(root, 'r', sizeof(root));
	root[0] = '/';
	root[sizeof(root) - 1] = 0;
	assert_int_equal(nic_socket_path(root, "d", &path, &err), -ERR_INVALID);
	buf_clear(&path);
	assert_int_equal(nic_marks_path("/r", "d", NIC_MARKS_PODS, &path, &err), 0);
	assert_string_equal(path.p, "/r/plugins/d/pods");
}

static void a_mark_is_found_by_its_name(void **state UNUSED)
{
	char root[] = "/tmp/nic_socket_test.XXXXXX", folder[100], mark[120];
	FILE *f;

	assert_non_null(mkdtemp(root));
	assert_false(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("u1")));
	assert_false(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("")));
	(void)snprintf(folder, sizeof(folder), "%s/plugins/d/" NIC_MARKS_PODS, root);
	assert_int_equal(folder_make(folder, 0700, NULL), 0);
	(void)snprintf(mark, sizeof(mark), "%s/u1", folder);
	f = fopen(mark, "w");
	assert_non_null(f);
	(void)fclose(f);
	assert_true(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("u1")));
	assert_false(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("u2")));
	/* Without a usable name any mark counts. */
	assert_true(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("")));
	assert_true(nic_marks_has(root, "d", NIC_MARKS_PODS, STR("../u2")));
	assert_false(nic_marks_has(root, "d", NIC_MARKS_NAMESPACES, STR("")));
	folder_fixture_remove(root);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(the_socket_is_root_s_alone),
		IN_WORLD(a_question_has_all_that_the_asker_says),
		IN_WORLD(an_answer_may_come_at_once),
		IN_WORLD(a_refusal_has_the_code_and_the_words),
		IN_WORLD(gc_has_its_list),
		IN_WORLD(bad_questions_reach_nobody),
		IN_WORLD(devices_are_listed),
		IN_WORLD(a_reply_after_the_caller_hung_up_is_harmless),
		IN_WORLD(stopping_waits_for_answers),
		IN_WORLD(an_unanswered_question_outlives_the_socket),
		IN_WORLD(a_dead_driver_s_socket_is_replaced_a_living_one_s_not),
		cmocka_unit_test(a_path_that_the_kernel_does_not_take_is_refused),
		cmocka_unit_test(a_mark_is_found_by_its_name),
	};

	return cmocka_run_group_tests_name("drivers/nic_socket", tests, NULL, NULL);
}
