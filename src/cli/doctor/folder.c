/*
 * Checks the folder of `devplane up`: disk space, certificates, the port, and the roles that run.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "cli/doctor/doctor.h"
#include "cli/up/health.h"
#include "cli/up/port.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"

enum { PORT = 6443, ASK_MS = 3000, DAYS_SOON = 30 };

#define GIB         (1024.0 * 1024 * 1024)
#define ROOM_LITTLE (1.0 * GIB)
#define ROOM_NONE   (GIB / 16)
#define INODES_FEW  10000

/* --- room ------------------------------------------------------------------------------------ */

static void check_room(struct doctor *d)
{
	struct statvfs v;
	double room;

	if (statvfs(d->layout.dir, &v) < 0)
		return;
	room = (double)v.f_bavail * (double)v.f_frsize;
	if (room < ROOM_LITTLE)
		doctor_say(d, room < ROOM_NONE ? DOCTOR_FAIL : DOCTOR_WARN, "disk space",
			   "free some, or move the folder: writes fail when it is full",
			   "%.2f GiB are left", room / GIB);
	else if (v.f_files > 0 && v.f_favail < INODES_FEW)
		doctor_say(d, DOCTOR_WARN, "disk space", "remove files that are not needed",
			   "only %llu more files can be created", (unsigned long long)v.f_favail);
	else
		doctor_say(d, DOCTOR_OK, "disk space", NULL, "%.0f GiB are left", room / GIB);
}

/* --- certificates ---------------------------------------------------------------------------- */

struct expiry {
	int64_t at; /* the first; seconds since 1970 */
	const char *what;
	size_t n;
};

static void take_certificate(struct expiry *e, struct str pem, const char *what)
{
	int64_t at;

	if (pem.n == 0 || pki_not_after(pem, &at, NULL) < 0)
		return;
	if (e->n++ == 0 || at < e->at) {
		e->at = at;
		e->what = what;
	}
}

static void take_kubeconfig(struct doctor *d, struct expiry *e, const char *path)
{
	struct kubeconfig k = { 0 };

	if (kubeconfig_load(&k, &(struct kubeconfig_opts){ .path = path }, NULL) == 0)
		take_certificate(e, k.cert, arena_strdup(d->arena, str_from(path)));
	kubeconfig_release(&k);
}

static int is_kubeconfig(const struct dirent *e)
{
	return str_ends(str_from(e->d_name), STR(".kubeconfig"));
}

static void take_roles(struct doctor *d, struct expiry *e)
{
	struct dirent **found = NULL;
	int n = scandir(d->layout.kubeconfigs, &found, is_kubeconfig, alphasort);

	for (int i = 0; i < n; i++) {
		take_kubeconfig(
			d, e,
			arena_printf(d->arena, "%s/%s", d->layout.kubeconfigs, found[i]->d_name));
		free(found[i]);
	}
	free(found);
}

static void check_certificates(struct doctor *d)
{
	CLEANUP(buf_release) struct buf ca = BUF_INIT(PEM_FILE_MAX);
	const char *path = arena_printf(d->arena, "%s/pki/ca.crt", d->layout.dir);
	struct expiry e = { 0 };
	int64_t days;

	if (file_read(path, &ca, NULL) < 0)
		return;
	take_certificate(&e, buf_str(&ca), path);
	take_kubeconfig(d, &e, d->layout.admin);
	take_roles(d, &e);
	if (e.n == 0) {
		doctor_say(d, DOCTOR_FAIL, "certificates",
			   "restore pki/ca.crt from a backup: kubeconfigs need it to trust the "
			   "server",
			   "cannot read %s", path);
		return;
	}
	days = (e.at - clock_wall(clock_system()) / CLOCK_SEC) / 86400;
	if (days < DAYS_SOON)
		doctor_say(d, days < 0 ? DOCTOR_FAIL : DOCTOR_WARN, "certificates",
			   strcmp(e.what, path) == 0
				   ? "the CA itself expires: use a new folder, or a new CA"
				   : "restart to renew it: devplane down, devplane up",
			   "%s %s %lld days", e.what,
			   days < 0 ? "has been expired for" : "expires in",
			   (long long)(days < 0 ? -days : days));
	else
		doctor_say(d, DOCTOR_OK, "certificates", NULL,
			   "%zu are valid, for at least %lld days", e.n, (long long)days);
}

/* --- the folder ------------------------------------------------------------------------------ */

static void check_port(struct doctor *d)
{
	struct error err;

	if (d->pid != 0)
		return;
	if (up_port_check("127.0.0.1", PORT, &err) < 0)
		doctor_say(d, DOCTOR_WARN, "port", NULL, "%s", err.msg);
	else
		doctor_say(d, DOCTOR_OK, "port", NULL, "%d is free", PORT);
}

static bool check_access(struct doctor *d)
{
	if (access(d->layout.dir, F_OK) < 0) {
		doctor_say(d, DOCTOR_OK, "data folder", NULL,
			   "%s does not exist yet; `devplane up` creates it", d->layout.dir);
		return false;
	}
	if (access(d->layout.dir, R_OK | W_OK | X_OK) < 0) {
		doctor_say(d, DOCTOR_FAIL, "data folder",
			   "run as its owner, or choose another with --data-dir",
			   "cannot use %s: %s", d->layout.dir, strerrordesc_np(errno));
		return false;
	}
	doctor_say(d, DOCTOR_OK, "data folder", NULL, "%s", d->layout.dir);
	return true;
}

void doctor_check_folder(struct doctor *d)
{
	struct error err;
	int r;

	check_port(d);
	if (!check_access(d))
		return;
	check_room(d);
	check_certificates(d);
	r = up_state_read(&d->layout, &d->state, &err);
	if (r < 0 && r != -ERR_NOT_FOUND)
		doctor_say(d, DOCTOR_FAIL, "state", "remove that file while the cluster is stopped",
			   "%s", err.msg);
}

/* --- roles ----------------------------------------------------------------------------------- */

static void check_role(struct doctor *d, const struct up_state_role *r)
{
	const char *subject = arena_printf(d->arena, "role %.*s", STR_ARG(r->name));
	const char *hint = arena_printf(d->arena, "see `devplane logs %.*s`", STR_ARG(r->name));
	struct up_health h = up_health_of(d->arena, &d->layout, r);

	if (!str_eqz(r->state, "ready")) {
		doctor_say(d, DOCTOR_FAIL, subject, hint, "%.*s%s%.*s", STR_ARG(r->state),
			   r->failure.n ? ": " : "", STR_ARG(r->failure));
		return;
	}
	if (up_health_ask(&h, 1, ASK_MS, NULL) < 0)
		return;
	if (!h.ok)
		doctor_say(d, DOCTOR_FAIL, subject, hint, "%s", h.text);
	else if (r->restarts > 0)
		doctor_say(d, DOCTOR_WARN, subject, hint, "ready, but restarted %lld times: %.*s",
			   (long long)r->restarts, STR_ARG(r->failure));
	else
		doctor_say(d, DOCTOR_OK, subject, NULL, "ready");
}

void doctor_check_roles(struct doctor *d)
{
	if (d->pid == 0) {
		doctor_say(d, DOCTOR_WARN, "cluster", "start it with `devplane up`",
			   "nothing runs in %s", d->layout.dir);
		return;
	}
	doctor_say(d, DOCTOR_OK, "cluster", NULL, "the supervisor runs, pid %lld",
		   (long long)d->pid);
	for (size_t i = 0; i < d->state.n; i++)
		check_role(d, &d->state.roles[i]);
}
