/* The minors of the control and memory nodes are fixed in the kernel modules. */
#include "drivers/gpu_cdi/edits.h"

#include "drivers/gpu_cdi/proc.h"

enum { CONTROL_MINOR = 255, UVM_MINOR = 0, UVM_TOOLS_MINOR = 1 };

static void edits_add(struct gpu_edits *e, const char *path, uint32_t major, uint32_t minor,
		      uint32_t mode)
{
	e->nodes[e->nnodes++] = (struct gpu_node){
		.path = path, .type = 'c', .major = major, .minor = minor, .mode = mode
	};
}

static int edits_add_cap(struct gpu_edits *e, struct arena *a, const char *root,
			 const struct gpu_edits_device *d, int32_t ci, uint32_t major,
			 struct error *err)
{
	struct gpu_cap cap;
	int r = gpu_proc_cap(root, d->minor, (uint32_t)d->gi, ci, &cap, err);

	if (r < 0)
		return r;
	edits_add(e, arena_printf(a, "/dev/nvidia-caps/nvidia-cap%u", cap.minor), major, cap.minor,
		  cap.mode);
	return 0;
}

static int edits_add_caps(struct gpu_edits *e, struct arena *a, const char *root,
			  const struct gpu_edits_device *d, uint32_t major, struct error *err)
{
	int r;

	if (major == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "/proc/devices has no nvidia-caps, so MIG devices cannot be used; "
				 "update NVIDIA's driver");
	r = edits_add_cap(e, a, root, d, -1, major, err);
	return r < 0 ? r : edits_add_cap(e, a, root, d, d->ci, major, err);
}

int gpu_edits_make(struct arena *a, const char *root, const struct gpu_libraries *libraries,
		   const struct gpu_edits_device *d, struct gpu_edits *ret_edits, struct error *err)
{
	/* An NVIDIA runtime, where it is installed, then adds nothing of its own. */
	static const char *const env[] = { "NVIDIA_VISIBLE_DEVICES=void", NULL };
	struct gpu_edits e = { .files = libraries->files, .nfiles = libraries->nfiles, .env = env };
	struct gpu_majors m;
	int r = gpu_proc_majors(root, &m, err);

	if (r < 0)
		return r;
	if (m.uvm == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the kernel module nvidia_uvm is not loaded, which CUDA needs; "
				 "run \"modprobe nvidia_uvm\"");
	edits_add(&e, "/dev/nvidiactl", m.nvidia, CONTROL_MINOR, 0666);
	edits_add(&e, "/dev/nvidia-uvm", m.uvm, UVM_MINOR, 0666);
	edits_add(&e, "/dev/nvidia-uvm-tools", m.uvm, UVM_TOOLS_MINOR, 0666);
	edits_add(&e, arena_printf(a, "/dev/nvidia%u", d->minor), m.nvidia, d->minor, 0666);
	if (d->gi >= 0)
		r = edits_add_caps(&e, a, root, d, m.caps, err);
	if (r == 0)
		*ret_edits = e;
	return r;
}
