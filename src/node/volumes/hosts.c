/*
 * A pod's /etc/hosts, byte by byte as kubelet writes it. It is written in place, because running
 * containers have this same file mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/system/file.h"
#include "node/node_limits.h"
#include "node/volumes/volumes_impl.h"

enum { HOSTNAME_LONGEST = 63 };

static void add_aliases(struct buf *out, const struct pod *pod)
{
	const struct json *aliases = json_getz(pod->spec, "hostAliases");

	if (json_count(aliases) == 0)
		return;
	(void)buf_addz(out, "\n# Entries added by HostAliases.\n");
	JSON_FOREACH (it, aliases) {
		(void)buf_add_str(out, json_text_at(it, "ip"));
		JSON_FOREACH (name, json_getz(it, "hostnames"))
			(void)buf_printf(out, "\t%.*s", STR_ARG(json_str(name)));
		(void)buf_addc(out, '\n');
	}
}

/* Cuts at 63 characters, and then removes '-' and '.' at the end. */
static struct str hosts_cut(struct str name)
{
	if (name.n <= HOSTNAME_LONGEST)
		return name;
	name.n = HOSTNAME_LONGEST;
	while (name.n > 0 && (name.p[name.n - 1] == '-' || name.p[name.n - 1] == '.'))
		name.n--;
	return name;
}

static void hosts_add_pod(struct buf *out, const struct volumes *v, const struct pod *pod,
			  const struct volumes_paths *paths)
{
	struct str whole = json_text_at(pod->spec, "hostnameOverride");
	struct str name = json_text_at(pod->spec, "hostname");
	struct str subdomain = json_text_at(pod->spec, "subdomain");

	if (name.n == 0)
		name = paths->hostname.n > 0 ? paths->hostname : pod->name;
	if (whole.n > 0) {
		name = whole;
		subdomain = STR_NULL;
	}
	name = hosts_cut(name);
	for (size_t i = 0; i < paths->npod_ips; i++) {
		(void)buf_printf(out, "%.*s\t%.*s", STR_ARG(paths->pod_ips[i]), STR_ARG(name));
		if (subdomain.n > 0)
			(void)buf_printf(out, ".%.*s.%.*s.svc.%s\t%.*s", STR_ARG(subdomain),
					 STR_ARG(pod->ns), v->cluster_domain, STR_ARG(name));
		(void)buf_addc(out, '\n');
	}
}

static int make_hosts(struct buf *out, const struct volumes *v, const struct pod *pod,
		      const struct volumes_paths *paths, struct error *err)
{
	int r = 0;

	if (pod_host_network(pod)) {
		(void)buf_addz(out, "# Kubernetes-managed hosts file (host network).\n");
		r = file_read(v->hosts_file, out, err);
	} else {
		(void)buf_addz(out, "# Kubernetes-managed hosts file.\n"
				    "127.0.0.1\tlocalhost\n"
				    "::1\tlocalhost ip6-localhost ip6-loopback\n"
				    "fe00::0\tip6-localnet\n"
				    "fe00::0\tip6-mcastprefix\n"
				    "fe00::1\tip6-allnodes\n"
				    "fe00::2\tip6-allrouters\n");
		hosts_add_pod(out, v, pod, paths);
	}
	add_aliases(out, pod);
	if (r == 0 && out->overflow)
		r = error_set(err, ERR_TOO_LARGE, "the hosts file is too large");
	return r;
}

static int write_in_place(const char *path, struct str text, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	ssize_t n;
	int e = 0;

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", path);
	while (e == 0 && text.n > 0) {
		n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR)
			e = errno;
		else if (n > 0)
			text = str_skip(text, (size_t)n);
	}
	if (e == 0 && fchmod(fd, 0644) < 0)
		e = errno;
	(void)close(fd);
	return e ? error_set_errno(err, ERR_IO, e, "write %s", path) : 0;
}

int volume_write_hosts(const struct volumes *v, const struct pod *pod,
		       const struct volumes_paths *paths, const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(HOSTS_FILE_MAX);
	int r;

	r = make_hosts(&out, v, pod, paths, err);
	return r < 0 ? r : write_in_place(path, buf_str(&out), err);
}
