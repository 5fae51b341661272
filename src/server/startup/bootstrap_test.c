#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "base/yaml/yaml.h"
#include "net/loop/addr.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"
#include "server/core/options.h"
#include "server/startup/bootstrap.h"

/* A data folder of its own for each test. */
struct folder {
	char dir[64];
	struct server_opts opts;
};

static void folder_init(struct folder *f)
{
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/bootstrap_test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->opts = (struct server_opts){ .data_dir = f->dir, .bind_address = "127.0.0.1" };
}

static void folder_release(struct folder *f)
{
	static const char *const files[] = { "pki/ca.crt", "pki/ca.key", "admin.kubeconfig" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/pki", f->dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(f->dir), 0);
}

static void ca_text(const struct folder *f, struct buf *out)
{
	struct pki_ca *ca = NULL;

	assert_int_equal(bootstrap_ca(f->dir, clock_system(), &ca, NULL), 0);
	assert_int_equal(pki_ca_cert(ca, out, NULL), 0);
	pki_ca_free(ca);
}

static void the_second_start_finds_the_ca_of_the_first(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf second = BUF_INIT(PEM_FILE_MAX);
	struct folder f;
	struct stat st;
	char path[128];

	folder_init(&f);
	ca_text(&f, &first);
	ca_text(&f, &second);
	assert_true(str_eq(buf_str(&first), buf_str(&second)));
	(void)snprintf(path, sizeof(path), "%s/pki/ca.key", f.dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	folder_release(&f);
}

static void a_lost_key_is_an_error_and_not_a_new_ca(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(PEM_FILE_MAX);
	struct pki_ca *ca = NULL;
	struct folder f;
	char path[128];

	folder_init(&f);
	ca_text(&f, &first);
	(void)snprintf(path, sizeof(path), "%s/pki/ca.key", f.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(bootstrap_ca(f.dir, clock_system(), &ca, NULL), -ERR_NOT_FOUND);
	assert_null(ca);
	folder_release(&f);
}

static void the_kubeconfig_trusts_the_ca_and_names_the_server(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf trust = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf want = BUF_INIT(PEM_FILE_MAX);
	struct pki_ca *ca = NULL;
	struct arena a;
	struct folder f;
	struct addr at;
	struct json *tree;
	struct json *cluster;
	char *path = NULL;

	folder_init(&f);
	arena_init(&a, MIB);
	assert_int_equal(bootstrap_ca(f.dir, clock_system(), &ca, NULL), 0);
	assert_int_equal(addr_parse(&at, STR("127.0.0.1:4443"), 0, NULL), 0);
	assert_int_equal(bootstrap_kubeconfig(&f.opts, ca, &at, clock_system(), &path, NULL), 0);
	assert_int_equal(file_read(path, &text, NULL), 0);
	assert_int_equal(yaml_parse(&a, buf_str(&text), NULL, &tree, NULL), 0);
	cluster = json_pointer(tree, STR("/clusters/0/cluster"));
	assert_true(str_eqz(json_text_at(cluster, "server"), "https://127.0.0.1:4443"));
	assert_int_equal(base64_decode(&trust, json_text_at(cluster, "certificate-authority-data"),
				       BASE64_STD, NULL),
			 0);
	assert_int_equal(pki_ca_cert(ca, &want, NULL), 0);
	assert_true(str_eq(buf_str(&trust), buf_str(&want)));
	assert_non_null(json_pointer(tree, STR("/users/0/user/client-key-data")));
	free(path);
	pki_ca_free(ca);
	arena_release(&a);
	folder_release(&f);
}

/* Simulates a full disk: no file may have a byte. */
static void set_file_limit(rlim_t most)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = MIN(most, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int write_kubeconfig(struct folder *f, const struct pki_ca *ca, const char *address)
{
	char *path = NULL;
	struct addr at;
	int r;

	assert_int_equal(addr_parse(&at, str_from(address), 0, NULL), 0);
	r = bootstrap_kubeconfig(&f->opts, ca, &at, clock_system(), &path, NULL);
	free(path);
	return r;
}

static void a_full_disk_leaves_a_kubeconfig_that_is_still_good(void **state UNUSED)
{
	struct pki_ca *ca = NULL;
	struct folder f;

	folder_init(&f);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(bootstrap_ca(f.dir, clock_system(), &ca, NULL), 0);
	set_file_limit(0);
	assert_int_equal(write_kubeconfig(&f, ca, "127.0.0.1:4443"), -ERR_IO);
	set_file_limit(RLIM_INFINITY);
	assert_int_equal(write_kubeconfig(&f, ca, "127.0.0.1:4443"), 0);
	set_file_limit(0);
	assert_int_equal(write_kubeconfig(&f, ca, "127.0.0.1:4443"), 0);
	assert_int_equal(write_kubeconfig(&f, ca, "127.0.0.1:4444"), -ERR_IO);
	set_file_limit(RLIM_INFINITY);
	pki_ca_free(ca);
	folder_release(&f);
}

static void a_serving_certificate_is_made_or_read(void **state UNUSED)
{
	struct pki_ca *ca = NULL;
	struct tls *tls = NULL;
	struct folder f;
	struct error err;

	folder_init(&f);
	assert_int_equal(bootstrap_ca(f.dir, clock_system(), &ca, NULL), 0);
	assert_int_equal(bootstrap_tls(&f.opts, ca, clock_system(), &tls, NULL), 0);
	tls_unref(tls);
	tls = NULL;
	f.opts.bind_address = "0.0.0.0";
	assert_int_equal(bootstrap_tls(&f.opts, ca, clock_system(), &tls, NULL), 0);
	tls_unref(tls);
	tls = NULL;
	f.opts.cert_file = f.opts.key_file = "/nonexistent/x.crt";
	assert_int_equal(bootstrap_tls(&f.opts, ca, clock_system(), &tls, &err), -ERR_NOT_FOUND);
	assert_null(tls);
	pki_ca_free(ca);
	folder_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_start_finds_the_ca_of_the_first),
		cmocka_unit_test(a_lost_key_is_an_error_and_not_a_new_ca),
		cmocka_unit_test(the_kubeconfig_trusts_the_ca_and_names_the_server),
		cmocka_unit_test(a_full_disk_leaves_a_kubeconfig_that_is_still_good),
		cmocka_unit_test(a_serving_certificate_is_made_or_read),
	};

	return cmocka_run_group_tests_name("server/bootstrap", tests, NULL, NULL);
}
