/*
 * The book in its own folder: it reads back everything that was written, faults in the file are
 * reported and lose nothing else, and marks follow the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "drivers/drivers_limits.h"
#include "drivers/nic_attach/book_impl.h"

struct test {
	char root[64], dir[96], file[128], bad[160];
	struct nic_book *book;
	char warned[1024]; /* the last warning */
	unsigned warnings;
};

static void on_warning(void *arg, const char *message)
{
	struct test *t = arg;

	(void)snprintf(t->warned, sizeof(t->warned), "%s", message);
	t->warnings++;
}

static int open_book(struct test *t, struct error *err)
{
	nic_book_close(t->book);
	t->book = NULL;
	return nic_book_open(t->dir, on_warning, t, &t->book, err);
}

static void reopen(struct test *t)
{
	struct error err = { 0 };

	if (open_book(t, &err) < 0)
		fail_msg("%s", err.msg);
}

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	(void)snprintf(t->root, sizeof(t->root), "/tmp/nic-book-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	(void)snprintf(t->dir, sizeof(t->dir), "%s/plugins/net", t->root);
	(void)snprintf(t->file, sizeof(t->file), "%s/interfaces.json", t->dir);
	(void)snprintf(t->bad, sizeof(t->bad), "%s.bad", t->file);
	*state = t;
	reopen(t);
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	nic_book_close(t->book);
	folder_fixture_remove(t->root);
	free(t);
	return 0;
}

/* The names in a folder of marks, in order, with a space behind each. */
static const char *marks_in(struct test *t, const char *folder)
{
	static char names[1024];
	struct dirent **list;
	char path[160];
	int n;

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, folder);
	n = scandir(path, &list, NULL, alphasort);
	assert_true(n >= 2);
	names[0] = 0;
	for (int i = 0; i < n; i++) {
		size_t at = strlen(names);

		if (list[i]->d_name[0] != '.')
			(void)snprintf(names + at, sizeof(names) - at, "%s ", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return names;
}

static const char *marks(struct test *t)
{
	return marks_in(t, "pods");
}

static void write_text(const char *path, const char *text)
{
	struct error err;

	assert_int_equal(file_write_atomic(path, str_from(text), 0600, &err), 0);
}

static void make_mark(struct test *t, const char *name)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/pods/%s", t->dir, name);
	write_text(path, "");
}

static struct nic_use *add(struct test *t, const char *claim, const char *pod, const char *device)
{
	struct nic_use *u = nic_book_add(t->book);

	assert_non_null(u);
	u->claim_ns = nic_use_text(u, STR("default"));
	u->claim_name = nic_use_text(u, STR("claim"));
	u->claim_uid = nic_use_text(u, str_from(claim));
	u->pod_name = nic_use_text(u, STR("pod"));
	u->pod_uid = nic_use_text(u, str_from(pod));
	u->pool = nic_use_text(u, STR("node-1"));
	(void)snprintf(u->nic.device, sizeof(u->nic.device), "%s", device);
	u->nic.kind = NIC_VETH;
	return u;
}

static void save(struct test *t)
{
	struct error err = { 0 };

	if (nic_book_save(t->book, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct rtnl_link link_of_infiniband(void)
{
	struct rtnl_link l = {
		.index = 7,
		.name = "ib0",
		.mac = { .n = 20 },
		.permanent = { .n = 6, .bytes = { 2, 0, 0, 0xab, 0, 9 } },
		.mtu = 2044,
		.up = true,
		.running = true,
		.parent = 3,
		.parent_nsid = -1,
		.master = 12,
		.vlan = 100,
	};

	for (unsigned i = 0; i < l.mac.n; i++)
		l.mac.bytes[i] = (unsigned char)(250 + i);
	return l;
}

static void same_link(const struct rtnl_link *a, const struct rtnl_link *b)
{
	assert_int_equal(a->index, b->index);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->kind, b->kind);
	assert_true(rtnl_mac_equal(&a->mac, &b->mac));
	assert_true(rtnl_mac_equal(&a->permanent, &b->permanent));
	assert_int_equal(a->mtu, b->mtu);
	assert_int_equal(a->up, b->up);
	assert_int_equal(a->running, b->running);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->parent_nsid, b->parent_nsid);
	assert_int_equal(a->master, b->master);
	assert_int_equal(a->vlan, b->vlan);
}

/* --- tests -------------------------------------------------------------------------------- */

static const struct rtnl_ip ip = { .bytes = { 192, 0, 2, 5 }, .family = AF_INET, .prefix = 24 };
static const struct rtnl_route route = {
	.to = { .bytes = { 198, 51, 100 }, .family = AF_INET, .prefix = 24 },
	.via = { .bytes = { 192, 0, 2, 1 }, .family = AF_INET, .prefix = 32 },
	.metric = 100,
};

static void fill(struct nic_use *u)
{
	u->share_id = nic_use_text(u, STR("share"));
	u->nic.kind = NIC_HOST;
	(void)snprintf(u->nic.interface, RTNL_NAME, "ib0");
	(void)snprintf(u->nic.parent, RTNL_NAME, "eth1");
	u->nic.vlan = 4094;
	u->nic.macvlan_mode = MACVLAN_MODE_VEPA;
	u->nic.link = u->before = link_of_infiniband();
	u->config = (struct nic_config){ .interface_name = "blue0",
					 .network = "blue",
					 .addresses = &ip,
					 .naddresses = 1,
					 .routes = &route,
					 .nroutes = 1,
					 .mtu = 1400,
					 .mac = { .n = 6, .bytes = { 2, 0, 0, 0, 0, 5 } } };
	u->state = NIC_ATTACHED;
	nic_use_set_sandbox(u, "sandbox-1", "/run/netns/x", "/opt/cni/bin");
	nic_use_set_network(u, "pods");
	u->netns_id = UINT64_MAX;
	(void)snprintf(u->interface, RTNL_NAME, "blue0");
	u->index = 44;
	(void)snprintf(u->peer, RTNL_NAME, "dpv0");
	u->parent = 45;
	(void)snprintf(u->master, RTNL_NAME, "br0");
}

static void assert_filled_config(const struct nic_config *c)
{
	assert_string_equal(c->interface_name, "blue0");
	assert_string_equal(c->network, "blue");
	assert_int_equal(c->naddresses, 1);
	assert_memory_equal(c->addresses[0].bytes, ip.bytes, 4);
	assert_int_equal(c->nroutes, 1);
	assert_int_equal(c->routes[0].metric, 100);
	assert_memory_equal(c->routes[0].via.bytes, route.via.bytes, 4);
	assert_int_equal(c->mtu, 1400);
	assert_int_equal(c->mac.bytes[5], 5);
}

static void assert_filled_stay(const struct nic_use *u)
{
	struct rtnl_link l = link_of_infiniband();

	assert_int_equal(u->state, NIC_ATTACHED);
	assert_string_equal(u->container_id, "sandbox-1");
	assert_string_equal(u->netns, "/run/netns/x");
	assert_string_equal(u->cni_path, "/opt/cni/bin");
	assert_string_equal(u->cni_network, "pods");
	assert_true(u->netns_id == UINT64_MAX);
	assert_string_equal(u->interface, "blue0");
	assert_int_equal(u->index, 44);
	assert_string_equal(u->peer, "dpv0");
	assert_int_equal(u->parent, 45);
	assert_string_equal(u->master, "br0");
	same_link(&u->before, &l);
}

static void a_use_is_read_as_it_was_written(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "ib0");
	struct rtnl_link l = link_of_infiniband();

	fill(u);
	save(t);
	reopen(t);
	u = nic_book_next(t->book, NULL);
	assert_non_null(u);
	assert_null(nic_book_next(t->book, u));
	assert_string_equal(u->claim_ns, "default");
	assert_string_equal(u->claim_name, "claim");
	assert_string_equal(u->claim_uid, "uid-1");
	assert_string_equal(u->pod_name, "pod");
	assert_string_equal(u->pod_uid, "pod-1");
	assert_string_equal(u->pool, "node-1");
	assert_string_equal(u->share_id, "share");
	assert_string_equal(u->nic.device, "ib0");
	assert_int_equal(u->nic.kind, NIC_HOST);
	assert_string_equal(u->nic.interface, "ib0");
	assert_string_equal(u->nic.parent, "eth1");
	assert_int_equal(u->nic.vlan, 4094);
	assert_int_equal(u->nic.macvlan_mode, MACVLAN_MODE_VEPA);
	assert_null(u->nic.message);
	same_link(&u->nic.link, &l);
	assert_filled_config(&u->config);
	assert_filled_stay(u);
	assert_int_equal(t->warnings, 0);
}

static void a_plugins_config_and_result_are_kept(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");
	struct json *config, *result;
	struct error err;

	assert_int_equal(json_parse(&u->arena, STR("{\"type\":\"bridge\",\"ipam\":{}}"), NULL,
				    &config, &err),
			 0);
	assert_int_equal(json_parse(&u->arena, STR("{\"ips\":[{\"address\":\"10.1.0.5/16\"}]}"),
				    NULL, &result, &err),
			 0);
	u->config.cni = config;
	u->state = NIC_ATTACHING;
	nic_use_set_sandbox(u, "sandbox-1", "/run/netns/x", NULL);
	u->netns_id = 5;
	(void)snprintf(u->interface, RTNL_NAME, "net1");
	assert_int_equal(nic_use_set_result(u, result, &err), 0);
	save(t);
	reopen(t);
	u = nic_book_next(t->book, NULL);
	assert_non_null(u);
	assert_null(u->cni_path);
	assert_true(str_eqz(json_text_at(u->config.cni, "type"), "bridge"));
	assert_true(str_eqz(json_text_at(json_at(json_getz(u->cni_result, "ips"), 0), "address"),
			    "10.1.0.5/16"));

	/* A new sandbox knows nothing of the old one's result. */
	assert_null(u->cni_network);
	nic_use_set_network(u, "pods");
	nic_use_set_sandbox(u, "sandbox-2", u->netns, u->cni_path);
	assert_null(u->cni_network);
	assert_string_equal(u->netns, "/run/netns/x");
	assert_null(u->cni_result);
}

/* A pod may rename what it has; who asked for it by another name is asked to delete that. */
static void the_name_that_a_plugin_was_asked_for_is_kept(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");
	struct json *config;

	assert_int_equal(json_parse(&u->arena, STR("{\"type\":\"x\"}"), NULL, &config, NULL), 0);
	u->config.cni = config;
	u->state = NIC_ATTACHED;
	nic_use_set_sandbox(u, "sandbox-1", "/run/netns/x", NULL);
	u->netns_id = 5;
	(void)snprintf(u->interface, RTNL_NAME, "evil0");
	save(t);
	reopen(t);
	u = nic_book_next(t->book, NULL);
	assert_string_equal(u->cni_ifname, "evil0"); /* of an older driver's file */
	(void)snprintf(u->cni_ifname, RTNL_NAME, "net1");
	save(t);
	reopen(t);
	assert_string_equal(nic_book_next(t->book, NULL)->cni_ifname, "net1");
}

static void a_use_that_could_not_be_read_again_is_not_written(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");
	struct error err;

	save(t);
	u->state = NIC_ATTACHED;
	nic_use_set_sandbox(u, "sandbox-1", "/run/netns/\xff", NULL);
	u->netns_id = 5;
	(void)snprintf(u->interface, RTNL_NAME, "net1");
	assert_int_equal(nic_book_save(t->book, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "interfaces.json could not be read again"));
	reopen(t);
	assert_int_equal(t->warnings, 0);
	assert_int_equal(nic_book_next(t->book, NULL)->state, NIC_PREPARED);
}

static struct json *parse_result(struct nic_use *u, const struct buf *text)
{
	struct json *tree = NULL;

	assert_int_equal(json_parse(&u->arena, buf_str(text), NULL, &tree, NULL), 0);
	return tree;
}

static void a_use_that_is_too_large_is_rejected_with_a_message(void **state)
{
	CLEANUP(buf_release) struct buf large = BUF_INIT(64 * KIB), deep = BUF_INIT(64 * KIB);
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");
	struct error err;

	assert_true(NIC_USES_MAX * (NIC_USE_FILE_MAX + NIC_RESULT_MAX + KIB) <
		    DRIVER_CHECKPOINT_MAX);
	(void)buf_printf(&large, "\"%017000d\"", 0);
	for (int i = 0; i < 200; i++)
		(void)buf_addz(&deep, i < 100 ? "[" : "]");
	assert_int_equal(nic_use_set_result(u, parse_result(u, &large), &err), -ERR_TOO_LARGE);
	assert_string_equal(err.msg, "the plugin's result has more than 16384 bytes");
	assert_true(nic_use_set_result(u, parse_result(u, &deep), &err) < 0);
	assert_null(u->cni_result);
	save(t);

	/* A new one that is too large is the one that is refused. */
	u = add(t, "uid-2", "pod-2", "veth-1");
	(void)buf_printf(&large, "%040000d", 0);
	u->pod_name = nic_use_text(u, buf_str(&large));
	assert_int_equal(nic_book_save(t->book, &err), -ERR_TOO_LARGE);
	assert_non_null(strstr(err.msg, "device veth-1: its configuration and the data"));
	assert_string_equal(marks(t), "pod-1 ");
	nic_book_remove(t->book, u);
	save(t);
}

/* The same path and number may be those of another pod's by now. */
static void after_another_boot_all_namespaces_are_gone(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "ib0");
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	char *boot;

	fill(u);
	save(t);
	reopen(t);
	assert_true(nic_book_next(t->book, NULL)->netns_id == UINT64_MAX);
	assert_int_equal(file_read(t->file, &text, NULL), 0);
	boot = strstr(text.p, "\"bootID\":\"");
	boot[10] = boot[10] == '0' ? '1' : '0';
	write_text(t->file, text.p);
	for (int i = 0; i < 2; i++) {
		reopen(t);
		assert_int_equal(t->warnings, 0);
		u = nic_book_next(t->book, NULL);
		assert_int_equal(u->state, NIC_ATTACHED);
		assert_true(u->netns_id == 0 && u->index == 0);
		save(t);
	}
}

static void a_use_that_is_only_prepared_has_no_sandbox_in_the_file(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");

	nic_use_set_sandbox(u, "sandbox-1", "/run/netns/x", NULL);
	save(t);
	reopen(t);
	u = nic_book_next(t->book, NULL);
	assert_non_null(u);
	assert_int_equal(u->state, NIC_PREPARED);
	assert_null(u->container_id);
	assert_null(u->netns);
}

static void uses_are_found_by_device_and_removed(void **state)
{
	struct test *t = *state;
	struct nic_use *u;

	(void)add(t, "uid-1", "pod-1", "veth-0");
	u = add(t, "uid-2", "pod-1", "veth-1");
	save(t);
	assert_ptr_equal(nic_book_by_device(t->book, STR("node-1"), STR("veth-1")), u);
	assert_null(nic_book_by_device(t->book, STR("node-2"), STR("veth-1")));
	assert_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-")));
	nic_book_remove(t->book, u);
	save(t);
	reopen(t);
	assert_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-1")));
	assert_non_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-0")));
}

static void a_book_that_is_full_takes_no_more(void **state)
{
	struct test *t = *state;

	for (int i = 0; i < NIC_USES_MAX; i++)
		assert_non_null(nic_book_add(t->book));
	assert_null(nic_book_add(t->book));
	nic_book_remove(t->book, nic_book_next(t->book, NULL));
	assert_non_null(nic_book_add(t->book));
}

static void a_pod_has_a_mark_while_the_file_has_a_use_of_it(void **state)
{
	struct test *t = *state;
	struct nic_use *first = add(t, "uid-1", "pod-1", "veth-0"), *second;

	assert_string_equal(marks(t), "");
	save(t);
	assert_string_equal(marks(t), "pod-1 ");
	second = add(t, "uid-2", "pod-1", "veth-1");
	(void)add(t, "uid-3", "pod-2", "veth-2");
	save(t);
	nic_book_remove(t->book, first);
	assert_string_equal(marks(t), "pod-1 pod-2 ");
	save(t);
	assert_string_equal(marks(t), "pod-1 pod-2 ");
	nic_book_remove(t->book, second);
	save(t);
	assert_string_equal(marks(t), "pod-2 ");
}

static void a_namespace_has_a_mark_while_the_file_has_a_use_in_it(void **state)
{
	struct test *t = *state;
	struct nic_use *first = add(t, "uid-1", "pod-1", "veth-0"), *other;
	char path[192];

	(void)add(t, "uid-2", "pod-2", "veth-1");
	other = add(t, "uid-3", "pod-3", "veth-2");
	other->claim_ns = nic_use_text(other, STR("other"));
	assert_string_equal(marks_in(t, "namespaces"), "");
	save(t);
	assert_string_equal(marks_in(t, "namespaces"), "default other ");
	nic_book_remove(t->book, first);
	nic_book_remove(t->book, other);
	save(t);
	assert_string_equal(marks_in(t, "namespaces"), "default ");
	assert_string_equal(marks(t), "pod-2 ");

	(void)snprintf(path, sizeof(path), "%s/namespaces/default", t->dir);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/namespaces/left-over", t->dir);
	write_text(path, "");
	reopen(t);
	assert_string_equal(marks_in(t, "namespaces"), "default ");
	assert_int_equal(t->warnings, 0);
}

static void marks_are_put_right_at_the_start(void **state)
{
	struct test *t = *state;
	char path[192];

	(void)add(t, "uid-1", "pod-1", "veth-0");
	(void)add(t, "uid-2", "pod-2", "veth-1");
	save(t);
	make_mark(t, "left-over");
	(void)snprintf(path, sizeof(path), "%s/pods/pod-2", t->dir);
	assert_int_equal(unlink(path), 0);
	reopen(t);
	assert_string_equal(marks(t), "pod-1 pod-2 ");
	assert_int_equal(t->warnings, 0);
}

static void a_mark_that_cannot_go_is_told_of_and_tried_again(void **state)
{
	struct test *t = *state;
	struct nic_use *u = add(t, "uid-1", "pod-1", "veth-0");
	char path[192];

	save(t);
	/* A folder in its place cannot be unlinked. */
	(void)snprintf(path, sizeof(path), "%s/pods/pod-1", t->dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	nic_book_remove(t->book, u);
	save(t);
	assert_int_equal(t->warnings, 1);
	assert_non_null(strstr(t->warned, "pods/pod-1"));
	assert_int_equal(rmdir(path), 0);
	save(t);
	assert_int_equal(t->warnings, 1);
}

static void a_uid_that_leads_elsewhere_is_refused(void **state)
{
	static const char *const uids[] = { "", "..", "../x", "a/b", ".hidden", "a\nb", "-" };
	struct test *t = *state;
	struct error err;

	(void)add(t, "uid-0", "pod-0", "veth-9");
	save(t);
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		struct nic_use *u = add(t, "uid-1", uids[i], "veth-0");

		assert_int_equal(nic_book_save(t->book, &err), -ERR_INVALID);
		assert_non_null(strstr(err.msg, "can be no file's name"));
		assert_string_equal(marks(t), "pod-0 ");
		nic_book_remove(t->book, u);
	}
	reopen(t);
	assert_non_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-9")));
	assert_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-0")));
}

/* A limit on a file's size makes the write fail; marks, which are empty, can be made. */
static void a_save_that_fails_leaves_file_and_marks(void **state)
{
	struct test *t = *state;
	struct rlimit old, small = { 0 };
	struct nic_use *u;
	struct error err;

	(void)add(t, "uid-1", "pod-1", "veth-0");
	save(t);
	u = add(t, "uid-2", "pod-2", "veth-1");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(nic_book_save(t->book, &err), -ERR_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(err.sys_errno, EFBIG);
	assert_non_null(strstr(err.msg, t->file));
	assert_string_equal(marks(t), "pod-1 ");
	save(t);
	assert_string_equal(marks(t), "pod-1 pod-2 ");
	nic_book_remove(t->book, u);

	reopen(t);
	assert_non_null(nic_book_by_device(t->book, STR("node-1"), STR("veth-1")));
}

/* A small disk in a mount namespace of the test's own. */
static bool has_small_disk(const struct test *t)
{
	if (unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", t->dir, "tmpfs", 0, "size=16k") == 0)
		return true;
	print_message("# skipped: no file system can be mounted: %s\n", strerror(errno));
	return false;
}

static void a_full_disk_is_told_with_what_to_do(void **state)
{
	struct test *t = *state;
	char path[160], ballast[4096] = { 0 };
	struct error err;
	int fd;

	if (!has_small_disk(t))
		skip();
	reopen(t);
	(void)add(t, "uid-1", "pod-1", "veth-0");
	save(t);
	(void)snprintf(path, sizeof(path), "%s/ballast", t->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, ballast, sizeof(ballast)) > 0)
		;
	(void)close(fd);
	(void)add(t, "uid-2", "pod-2", "veth-1");
	assert_int_equal(nic_book_save(t->book, &err), -ERR_IO);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_non_null(strstr(err.msg, "interfaces.json: No space left on device; free some"));
	assert_string_equal(marks(t), "pod-1 ");
	assert_int_equal(unlink(path), 0);
	save(t);
	assert_string_equal(marks(t), "pod-1 pod-2 ");
	nic_book_close(t->book);
	t->book = NULL;
	assert_int_equal(umount(t->dir), 0);
}

#define USE(more)                                                                       \
	"{\"claimNamespace\":\"n\",\"claimName\":\"c\",\"claimUID\":\"u\","             \
	"\"podName\":\"p\",\"podUID\":\"pu\",\"pool\":\"x\",\"device\":\"d\",\"kind\":" \
	"\"veth\",\"config\":{},\"state\":\"prepared\"" more "}"
#define GOOD                                                                            \
	"{\"claimNamespace\":\"n\",\"claimName\":\"c\",\"claimUID\":\"good\","          \
	"\"podName\":\"p\",\"podUID\":\"gu\",\"pool\":\"x\",\"device\":\"e\",\"kind\":" \
	"\"veth\",\"config\":{},\"state\":\"prepared\"}"

/* Members that come twice: the last one counts. */
static const struct {
	const char *use, *says;
} bad_uses[] = {
	{ "5", "a use is not an object" },
	{ "{}", "claimNamespace is missing" },
	{ USE(",\"claimUID\":5"), "claimUID is not a string" },
	{ USE(",\"pool\":\"a\\u0000b\""), "pool is not a string" },
	{ USE(",\"podUID\":\"../x\""), "podUID can be no file's name" },
	{ USE(",\"claimNamespace\":\"../x\""), "claimNamespace can be no file's name" },
	{ USE(",\"device\":\"\""), "device is missing" },
	{ USE(",\"device\":\"0123456789012345678901234567890123456789012345678901234567890123\""),
	  "device is too long" },
	{ USE(",\"kind\":\"tun\""), "kind is unknown" },
	{ USE(",\"kind\":\"host\""), "interface is missing" },
	{ USE(",\"parent\":\"a b\""), "parent is not an interface name" },
	{ USE(",\"vlan\":70000"), "vlan is out of range" },
	{ USE(",\"vlan\":1.0"), "vlan is out of range" },
	{ USE(",\"link\":5"), "link is not an object" },
	{ USE(",\"hardware\":5"), "hardware is not an object" },
	{ USE(",\"hardware\":{\"numa\":-2}"), "hardware.numa is out of range" },
	{ USE(",\"link\":{}"), "link.index or name is missing" },
	{ USE(",\"link\":{\"index\":1,\"name\":\"a\",\"mac\":\"1:2\"}"),
	  "link.mac is not a hardware" },
	{ USE(",\"link\":{\"index\":1,\"name\":\"a\",\"up\":1}"), "link.up is neither" },
	{ USE(",\"config\":{\"adresses\":[]}"), "adresses" },
	{ USE(",\"state\":\"gone\""), "state is unknown" },
	{ USE(",\"state\":\"attached\""), "containerID is missing" },
	{ USE(",\"state\":\"attached\",\"containerID\":\"c\",\"netns\":\"n\",\"podInterface\":"
	      "\"net1\",\"netnsID\":-1"),
	  "netnsID is not the number" },
	{ USE(",\"state\":\"attached\",\"containerID\":\"c\",\"netns\":\"n\",\"netnsID\":7"),
	  "podInterface is missing" },
	{ USE(",\"kind\":\"host\",\"interface\":\"eth1\",\"state\":\"attached\",\"containerID\":"
	      "\"c\",\"netns\":\"n\",\"netnsID\":7,\"podInterface\":\"net1\""),
	  "before is missing" },
	{ GOOD, "is there twice" },
};

static void a_use_that_cannot_be_read_is_told_and_the_others_stay(void **state)
{
	struct test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad_uses); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);

		(void)buf_printf(&text, "{\"version\":1,\"uses\":[" GOOD ",%s]}", bad_uses[i].use);
		write_text(t->file, text.p);
		t->warnings = 0;
		reopen(t);
		assert_int_equal(t->warnings, 1);
		if (!strstr(t->warned, bad_uses[i].says) || !strstr(t->warned, "uses[1]"))
			fail_msg("%s: %s", bad_uses[i].use, t->warned);
		assert_non_null(nic_book_by_device(t->book, STR("x"), STR("e")));
		assert_null(nic_book_by_device(t->book, STR("x"), STR("d")));
		/* Told once, and what could be read is in a file again. */
		reopen(t);
		assert_int_equal(t->warnings, 1);
		assert_non_null(nic_book_by_device(t->book, STR("x"), STR("e")));
		assert_string_equal(marks(t), "gu ");
	}
}

static void a_member_of_a_newer_driver_is_passed_over(void **state)
{
	struct test *t = *state;

	write_text(t->file, "{\"version\":1,\"uses\":[" USE(",\"colour\":\"red\"") "],\"more\":1}");
	reopen(t);
	assert_int_equal(t->warnings, 0);
	assert_non_null(nic_book_by_device(t->book, STR("x"), STR("d")));
}

static void a_file_that_cannot_be_read_is_set_aside(void **state)
{
	static const char *const texts[] = { "",
					     "{",
					     "[]",
					     "{\"version\":2,\"uses\":[]}",
					     "{\"version\":1}",
					     "{\"version\":1,\"uses\":{}}" };
	struct test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(buf_release) struct buf kept = BUF_INIT(64 * KIB);
		struct error err;

		write_text(t->file, texts[i]);
		make_mark(t, "pod-of-it");
		t->warnings = 0;
		reopen(t);
		assert_int_equal(t->warnings, 1);
		assert_non_null(strstr(t->warned, "interfaces.json.bad"));
		assert_int_equal(file_read(t->bad, &kept, &err), 0);
		assert_true(str_eqz(buf_str(&kept), texts[i]));
		assert_null(nic_book_next(t->book, NULL));
		assert_string_equal(marks(t), "");
	}
}

static void a_folder_in_place_of_the_file_is_an_error(void **state)
{
	struct test *t = *state;
	struct error err;

	assert_int_equal(mkdir(t->file, 0700), 0);
	assert_int_equal(open_book(t, &err), -ERR_IO);
	assert_null(t->book);
	assert_non_null(strstr(err.msg, t->file));
}

#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOOK_TEST(a_use_is_read_as_it_was_written),
		BOOK_TEST(a_plugins_config_and_result_are_kept),
		BOOK_TEST(the_name_that_a_plugin_was_asked_for_is_kept),
		BOOK_TEST(a_use_that_could_not_be_read_again_is_not_written),
		BOOK_TEST(a_use_that_is_too_large_is_rejected_with_a_message),
		BOOK_TEST(after_another_boot_all_namespaces_are_gone),
		BOOK_TEST(a_use_that_is_only_prepared_has_no_sandbox_in_the_file),
		BOOK_TEST(uses_are_found_by_device_and_removed),
		BOOK_TEST(a_book_that_is_full_takes_no_more),
		BOOK_TEST(a_pod_has_a_mark_while_the_file_has_a_use_of_it),
		BOOK_TEST(a_namespace_has_a_mark_while_the_file_has_a_use_in_it),
		BOOK_TEST(marks_are_put_right_at_the_start),
		BOOK_TEST(a_mark_that_cannot_go_is_told_of_and_tried_again),
		BOOK_TEST(a_uid_that_leads_elsewhere_is_refused),
		BOOK_TEST(a_save_that_fails_leaves_file_and_marks),
		BOOK_TEST(a_full_disk_is_told_with_what_to_do),
		BOOK_TEST(a_use_that_cannot_be_read_is_told_and_the_others_stay),
		BOOK_TEST(a_member_of_a_newer_driver_is_passed_over),
		BOOK_TEST(a_file_that_cannot_be_read_is_set_aside),
		BOOK_TEST(a_folder_in_place_of_the_file_is_an_error),
	};

	return cmocka_run_group_tests_name("drivers/nic_book", tests, NULL, NULL);
}
