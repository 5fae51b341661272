/*
 * The flags use upstream's plugin names, including plugins that do not exist here: existing flags
 * of a cluster should be accepted where that is honest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "server/core/options.h"
#include "server/plugins/table.h"

/* Upstream's names that are not in the table. */
static const struct known {
	const char *name;
	bool always; /* always active here; cannot be switched off */
} known[] = {
	{ "AlwaysAdmit", false },
	{ "NamespaceLifecycle", true },
	{ "CertificateApproval", true },
	{ "CertificateSigning", true },
	{ "CertificateSubjectRestriction", true },
	{ "NamespaceAutoProvision", false },
	{ "NamespaceExists", false },
	{ "LimitPodHardAntiAffinityTopology", false },
	{ "LimitRanger", false },
	{ "ImagePolicyWebhook", false },
	{ "PodNodeSelector", false },
	{ "PodTolerationRestriction", false },
	{ "ExtendedResourceToleration", false },
	{ "PodGroupProtection", false },
	{ "PersistentVolumeClaimResize", false },
	{ "ClusterTrustBundleAttest", false },
	{ "DenyServiceExternalIPs", false },
	{ "PodTopologyLabels", false },
	{ "NodeDeclaredFeatureValidator", false },
	{ "PodResizeValidator", false },
	{ "MutatingAdmissionWebhook", false },
	{ "ValidatingAdmissionPolicy", false },
	{ "ValidatingAdmissionWebhook", false },
	{ "ResourceQuota", false },
	{ "AlwaysDeny", false },
};

static const struct known *flags_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eqz(name, known[i].name))
			return &known[i];
	return NULL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Rejects a name, and lists upstream's plugins that can be switched here. */
static int refuse_unknown(const char *flag, const char *name, struct error *err)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT(4 * KIB);
	const char *names[ADMISSION_PLUGINS_MAX], *it;
	size_t n = 0;

	for (size_t i = 0; (it = admission_plugin(i)) == NULL || *it; i++)
		if (it)
			names[n++] = it;
	qsort(names, n, sizeof(*names), compare_names);
	/* Some plugins have several rows in the table. */
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			(void)buf_printf(&list, "%s%s", list.n ? ", " : "", names[i]);
	return error_set(err, ERR_INVALID, "%s: unknown plugin %s; known plugins: %s", flag, name,
			 list.p);
}

static int switch_one(struct admission *a, const char *flag, const char *name, bool on,
		      struct error *err)
{
	const struct known *k;

	if (admission_switch(a, str_from(name), on))
		return 0;
	k = flags_find(str_from(name));
	if (!k)
		return refuse_unknown(flag, name, err);
	if (k->always && !on)
		return error_set(err, ERR_INVALID, "%s: %s cannot be disabled", flag, name);
	if (!k->always && on)
		return error_set(err, ERR_INVALID,
				 "%s: upstream's plugin %s is not implemented; see "
				 "docs/differences.md",
				 flag, name);
	return 0;
}

int admission_configure(struct admission *a, const struct server_opts *o, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < o->nenable_admission_plugins && r == 0; i++)
		r = switch_one(a, "--enable-admission-plugins", o->enable_admission_plugins[i],
			       true, err);
	for (size_t i = 0; i < o->ndisable_admission_plugins && r == 0; i++) {
		for (size_t k = 0; k < o->nenable_admission_plugins; k++)
			if (str_eqz(str_from(o->enable_admission_plugins[k]),
				    o->disable_admission_plugins[i]))
				return error_set(err, ERR_INVALID,
						 "plugin %s is both in --enable-admission-plugins "
						 "and in --disable-admission-plugins",
						 o->disable_admission_plugins[i]);
		r = switch_one(a, "--disable-admission-plugins", o->disable_admission_plugins[i],
			       false, err);
	}
	return r;
}
