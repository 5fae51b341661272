// A DRA driver with health on upstream's kubeletplugin library: every file in a folder is a card.
//
//	cards-driver --folder DIR --node-name NODE --kubeconfig FILE --root-dir DIR --cdi-dir DIR
//
// A file that says "ok" is a healthy card. Any other text is the reason why the card is unhealthy. Containers get the
// name of their card in EXAMPLE_CARD. docs/writing-a-driver.md makes the same driver in C.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	cdi "tags.cncf.io/container-device-interface/specs-go"
)

const (
	driverName = "cards.example.com"
	cdiKind    = "k8s." + driverName + "/claim"
	interval   = time.Second
	heartbeat  = 10 * time.Second // the kubelet forgets reports after 30 s
)

type driver struct {
	folder, node, cdiDir string
	stop                 context.CancelCauseFunc
}

// look returns what each card's file says.
func (d *driver) look() map[string]string {
	cards := map[string]string{}
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		log.Print(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(d.folder, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // unplugged meanwhile
		}
		if err != nil {
			text = []byte(err.Error())
		}
		cards[entry.Name()] = strings.TrimSpace(string(text))
	}
	return cards
}

func (d *driver) resources(cards map[string]string) resourceslice.DriverResources {
	model, memory := "Example Card", resource.MustParse("8Gi")
	var devices []resourceapi.Device
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		device := resourceapi.Device{
			Name:       name,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: &model}},
			Capacity:   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: memory}},
		}
		if cards[name] != "ok" {
			device.Taints = []resourceapi.DeviceTaint{{Key: driverName + "/unhealthy", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}
		devices = append(devices, device)
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{{Devices: devices}}}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{d.node: pool}}
}

// publish keeps the ResourceSlices up to date until ctx ends.
func (d *driver) publish(ctx context.Context, helper *kubeletplugin.Helper) {
	var published map[string]string
	for {
		if cards := d.look(); published == nil || !maps.Equal(cards, published) {
			if err := helper.PublishResources(ctx, d.resources(cards)); err != nil {
				log.Print(err)
			} else {
				published = cards
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

func (d *driver) report(cards map[string]string) kubeletplugin.DeviceHealthReport {
	var report kubeletplugin.DeviceHealthReport
	for name, text := range cards {
		health := kubeletplugin.DeviceHealth{PoolName: d.node, DeviceName: name, Health: kubeletplugin.HealthStatusHealthy, LastUpdated: time.Now()}
		if text != "ok" {
			health.Health, health.Message = kubeletplugin.HealthStatusUnhealthy, text
		}
		report.Devices = append(report.Devices, health)
	}
	return report
}

// WatchHealthStatus reports each change within a second, and everything again before the kubelet forgets it.
func (d *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	var sent map[string]string
	var at time.Time
	for {
		if cards := d.look(); !maps.Equal(cards, sent) || time.Since(at) >= heartbeat {
			select {
			case <-ctx.Done():
				return nil
			case reports <- d.report(cards):
			}
			sent, at = cards, time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

func (d *driver) cdiFile(uid types.UID) string {
	return filepath.Join(d.cdiDir, fmt.Sprintf("k8s.%s-claim-%s.json", driverName, uid))
}

// prepare writes the claim's CDI file anew, so it may be called again.
func (d *driver) prepare(claim *resourceapi.ResourceClaim) kubeletplugin.PrepareResult {
	spec := cdi.Spec{Version: "0.5.0", Kind: cdiKind}
	var devices []kubeletplugin.Device
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != driverName {
			continue
		}
		name := fmt.Sprintf("%s-%s", claim.UID, result.Device)
		edits := cdi.ContainerEdits{Env: []string{"EXAMPLE_CARD=" + result.Device}}
		spec.Devices = append(spec.Devices, cdi.Device{Name: name, ContainerEdits: edits})
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device, ShareID: result.ShareID,
			CDIDeviceIDs: []string{cdiKind + "=" + name},
		})
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err == nil {
		err = os.WriteFile(d.cdiFile(claim.UID)+".tmp", text, 0o644)
	}
	if err == nil {
		err = os.Rename(d.cdiFile(claim.UID)+".tmp", d.cdiFile(claim.UID))
	}
	return kubeletplugin.PrepareResult{Devices: devices, Err: err}
}

func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		results[claim.UID] = d.prepare(claim)
		log.Printf("prepared %s/%s", claim.Namespace, claim.Name)
	}
	return results, nil
}

func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		err := os.Remove(d.cdiFile(claim.UID))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		results[claim.UID] = err
		log.Printf("unprepared %s/%s", claim.Namespace, claim.Name)
	}
	return results, nil
}

func (d *driver) HandleError(_ context.Context, err error, message string) {
	log.Printf("%s: %v", message, err)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		d.stop(err)
	}
}

func run(ctx context.Context, d *driver, kubeconfig, rootDir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dataDir := filepath.Join(rootDir, "plugins", driverName)
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return err
	}
	ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(driverName),
		kubeletplugin.NodeName(d.node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(dataDir),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(rootDir, "plugins_registry")))
	if err != nil {
		return err
	}
	defer helper.Stop()
	d.publish(ctx, helper)
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func main() {
	d := &driver{}
	flag.StringVar(&d.folder, "folder", "cards", "folder with a file for each card")
	flag.StringVar(&d.node, "node-name", "", "name of the node")
	flag.StringVar(&d.cdiDir, "cdi-dir", "/var/run/cdi", "folder of CDI files")
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the API server; in a pod not needed")
	rootDir := flag.String("root-dir", "/var/lib/kubelet", "folder of the kubelet, or of the node agent")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, d, *kubeconfig, *rootDir); err != nil {
		log.Fatal(err)
	}
}
