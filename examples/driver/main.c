/*
 * A DRA driver with health on the devplane SDK: every file in a folder is a device.
 *
 *	folder-driver FOLDER NODE KUBECONFIG ROOT-DIR CDI-DIR
 *
 * A file that says "ok" is a healthy device; whatever else it says is what is wrong with it. Files
 * that come and go are devices plugged in and out. A container that gets one finds the file at
 * /devices/NAME and its name in FOLDER_DEVICE; the claim's status says that the device is Ready.
 */
#include <devplane/driver.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 64, NAME_SIZE = 64, TEXT_SIZE = 256 };

struct folder {
	const char *path;
	struct dp_driver *driver;
	char names[DEVICES_MAX][NAME_SIZE], said[DEVICES_MAX][TEXT_SIZE];
	struct dp_device devices[DEVICES_MAX];
	size_t n;
};

static const struct dp_attribute attributes[] = {
	{ sizeof(struct dp_attribute), DP_STRING, "type", "file", 0 },
	{ sizeof(struct dp_attribute), DP_VERSION, "driverVersion", "1.0.0", 0 },
};

/* One line of the file, without its end. */
static void read_file(const struct folder *f, const char *name, char *text)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	file = fopen(path, "r");
	snprintf(text, TEXT_SIZE, "cannot be read");
	if (!file)
		return;
	text[0] = 0;
	if (fgets(text, TEXT_SIZE, file))
		text[strcspn(text, "\n")] = 0;
	fclose(file);
}

/* Looks at the folder and says what is there. Called once a second. */
static void look(void *arg)
{
	struct folder *f = arg;
	char message[TEXT_SIZE];
	struct dirent *e;
	DIR *dir = opendir(f->path);

	for (f->n = 0; dir && f->n < DEVICES_MAX && (e = readdir(dir));) {
		struct dp_device *d = &f->devices[f->n];

		if (e->d_name[0] == '.' || strlen(e->d_name) >= NAME_SIZE)
			continue;
		memcpy(f->names[f->n], e->d_name, strlen(e->d_name) + 1);
		read_file(f, e->d_name, f->said[f->n]);
		*d = (struct dp_device){ .size = sizeof(*d),
					 .name = f->names[f->n],
					 .attributes = attributes,
					 .nattributes = 2 };
		d->health = strcmp(f->said[f->n], "ok") == 0 ? DP_HEALTHY : DP_UNHEALTHY;
		d->message = d->health == DP_HEALTHY ? NULL : f->said[f->n];
		f->n++;
	}
	if (dir)
		closedir(dir);
	if (dp_driver_set_devices(f->driver, f->devices, f->n, message, sizeof(message)) < 0)
		fprintf(stderr, "folder-driver: %s\n", message);
}

static struct dp_claim_id id_of(const struct dp_claim *claim)
{
	return (struct dp_claim_id){ sizeof(struct dp_claim_id), 0, dp_claim_namespace(claim),
				     dp_claim_name(claim), dp_claim_uid(claim) };
}

static void say_ready(const struct folder *f, const struct dp_claim *claim, const char *device)
{
	struct dp_condition ready = { sizeof(ready), DP_TRUE, "Ready", "Mounted", NULL };
	struct dp_device_status status = { sizeof(status), .device = device, .conditions = &ready,
					   .nconditions = 1 };
	struct dp_claim_id id = id_of(claim);

	dp_driver_set_status(f->driver, &id, &status, NULL, 0);
}

static int prepare(void *arg, struct dp_claim *claim)
{
	const struct folder *f = arg;
	const struct dp_result *r;
	char env[128], host[1024], inside[128];

	for (size_t i = 0; (r = dp_claim_result(claim, i)); i++) {
		const char *const envs[] = { env, NULL };
		struct dp_mount mount = { sizeof(mount), 1, inside, host };
		struct dp_edits edits = { sizeof(edits), .env = envs, .mounts = &mount,
					  .nmounts = 1 };

		snprintf(env, sizeof(env), "FOLDER_DEVICE=%s", r->device);
		snprintf(host, sizeof(host), "%s/%s", f->path, r->device);
		snprintf(inside, sizeof(inside), "/devices/%s", r->device);
		if (dp_claim_edit(claim, i, &edits) < 0)
			return -1;
		say_ready(f, claim, r->device);
	}
	return 0;
}

static int unprepare(void *arg, struct dp_claim *claim)
{
	const struct folder *f = arg;
	struct dp_claim_id id = id_of(claim);

	dp_driver_clear_status(f->driver, &id);
	return 0;
}

int main(int argc, char **argv)
{
	struct folder f = { 0 };
	struct dp_driver_config config = { .size = sizeof(config),
					   .abi = DP_DRIVER_ABI,
					   .flags = DP_FLAG_SIGNALS | DP_FLAG_TAINT_UNHEALTHY,
					   .name = "folder.example.com",
					   .tick_ms = 1000,
					   .arg = &f,
					   .prepare = prepare,
					   .unprepare = unprepare,
					   .tick = look };
	char message[TEXT_SIZE];
	int r;

	if (argc != 6) {
		fprintf(stderr, "usage: folder-driver FOLDER NODE KUBECONFIG ROOT-DIR CDI-DIR\n");
		return 2;
	}
	f.path = argv[1];
	config.node_name = argv[2];
	config.kubeconfig = argv[3];
	config.root_dir = argv[4];
	config.cdi_dir = argv[5];
	r = dp_driver_new(&config, &f.driver, message, sizeof(message));
	if (r == 0) {
		look(&f);
		r = dp_driver_run(f.driver, message, sizeof(message));
	}
	if (r < 0)
		fprintf(stderr, "folder-driver: %s\n", message);
	dp_driver_free(f.driver);
	return r < 0;
}
