/*
 * The server has created its CA before this is needed. Nobody else gets the CA's key: roles get
 * certificates, not the means to issue them.
 */
#include "cli/up/credentials.h"

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "net/loop/addr.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "server/server.h"
#include "server/startup/bootstrap.h"

#define YEAR (INT64_C(365) * 86400)

static int load_ca(const struct up_plan *p, struct pki_ca **ret_ca, struct buf *cert,
		   struct error *err)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	int r;

	r = file_read(up_layout_ca(&p->layout), cert, err);
	if (r == 0)
		r = file_read(arena_printf(p->arena, "%s/pki/ca.key", p->layout.dir), &key, err);
	return r < 0 ? r : pki_ca_load(buf_str(cert), buf_str(&key), ret_ca, err);
}

static void add_data(struct buf *out, const char *name, struct str pem)
{
	(void)buf_printf(out, "    %s: ", name);
	(void)base64_encode(out, pem, BASE64_STD);
	(void)buf_addc(out, '\n');
}

static void add_head(struct buf *out, const char *url, struct str ca, const char *user)
{
	(void)buf_printf(out,
			 "apiVersion: v1\nkind: Config\ncurrent-context: devplane\n"
			 "clusters:\n- name: devplane\n  cluster:\n    server: %s\n",
			 url);
	add_data(out, "certificate-authority-data", ca);
	(void)buf_printf(out,
			 "contexts:\n- name: devplane\n  context:\n    cluster: devplane\n"
			 "    user: %s\nusers:\n- name: %s\n  user:\n",
			 user, user);
}

/* A path may contain characters that are special in YAML; a JSON string is safe. */
static void add_token_file(struct buf *out, const char *path)
{
	(void)buf_addz(out, "    tokenFile: ");
	(void)json_print_str(out, str_from(path), NULL);
	(void)buf_addc(out, '\n');
}

static int add_certificate(struct buf *out, const struct pki_ca *ca, const struct up_identity *id,
			   struct error *err)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	struct str group = str_from(id->group);
	struct pki_leaf leaf = { .common_name = str_from(id->user),
				 .organizations = &group,
				 .norganizations = id->group ? 1 : 0,
				 .client = true,
				 .lifetime = YEAR };
	int r = pki_issue(ca, &leaf, clock_system(), &cert, &key, err);

	if (r < 0)
		return r;
	add_data(out, "client-certificate-data", buf_str(&cert));
	add_data(out, "client-key-data", buf_str(&key));
	return 0;
}

/* Only the role's user can read it. */
static int write_for(const struct up_plan *p, const struct up_role *r, const char *path,
		     struct str text, struct error *err)
{
	unsigned uid = up_role_user(p, r).uid;

	return uid ? file_write_atomic_for(path, text, 0600, uid, uid, err)
		   : file_write_atomic(path, text, 0600, err);
}

/* Certificate and key are in one file, so that a full disk cannot leave halves of two pairs. */
static int write_serving(const struct up_plan *p, const struct up_role *r, const struct pki_ca *ca,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf pair = BUF_INIT(2 * PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	const char *node = up_role_served_node(p, r);
	struct str host = str_from(node), group = STR("system:nodes");
	struct pki_leaf leaf = { .common_name = str_from(
					 arena_printf(p->arena, "system:node:%s", node)),
				 .organizations = &group,
				 .norganizations = 1,
				 .hosts = &host,
				 .nhosts = 1,
				 .server = true,
				 .lifetime = YEAR };
	int ret = pki_issue(ca, &leaf, clock_system(), &pair, &key, err);

	if (ret == 0) {
		(void)buf_add_str(&pair, buf_str(&key));
		ret = write_for(p, r, up_layout_serving(&p->layout, r->name), buf_str(&pair), err);
	}
	return ret < 0 ? error_wrap(err, ret, "serving certificate of %s", r->name) : 0;
}

int up_credentials_write(const struct up_plan *p, const struct up_role *r, const char *url,
			 struct error *err)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * PEM_FILE_MAX);
	struct up_identity id = up_role_identity(p, r);
	int ret = load_ca(p, &ca, &cert, err);

	if (ret == 0) {
		add_head(&out, url, buf_str(&cert), r->name);
		if (id.user)
			ret = add_certificate(&out, ca, &id, err);
		else
			add_token_file(&out, up_layout_token(&p->layout, r->name));
	}
	if (ret == 0 && up_role_served_node(p, r))
		ret = write_serving(p, r, ca, err);
	if (ret == 0)
		ret = write_for(p, r, up_layout_kubeconfig(&p->layout, r->name), buf_str(&out),
				err);
	return ret < 0 ? error_wrap(err, ret, "kubeconfig of %s", r->name) : 0;
}

int up_credentials_write_token(const struct up_plan *p, const struct up_role *r, struct str token,
			       struct error *err)
{
	return write_for(p, r, up_layout_token(&p->layout, r->name), token, err);
}

int up_credentials_write_admin(const struct up_plan *p, const char *url, struct error *err)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	struct server_opts o = { .data_dir = p->layout.dir, .bind_address = p->bind_address };
	char *path = NULL;
	struct addr at;
	int r = addr_parse(&at, str_from(url), 0, err);

	if (r == 0)
		r = load_ca(p, &ca, &cert, err);
	if (r == 0)
		r = bootstrap_kubeconfig(&o, ca, &at, clock_system(), &path, err);
	free(path);
	return r < 0 ? error_wrap(err, r, "the administrator's kubeconfig") : 0;
}
