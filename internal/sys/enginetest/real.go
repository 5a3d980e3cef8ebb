package enginetest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Patience is how long the real engine may take for one thing: long, because
// machines that run tests are busy; nothing that works comes near it.
const Patience = 60 * time.Second

// image is the name of the image that holds nothing but testdata/inside.
const image = "custos/inside:1"

// Engine is a real engine of the test's own: its own folders, its own processes,
// no network, and nothing of it is left when the test ends.
type Engine struct {
	Socket string

	api   *client.Client
	log   string
	ended chan struct{} // closed when dockerd has ended
}

// Real starts an engine, or skips the test and says why it cannot. It needs root,
// dockerd (Debian's docker.io) and a kernel that lets it run containers.
func Real(t testing.TB) *Engine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, and nothing stands for it: a real container engine needs root")
	}
	for _, program := range []string{"dockerd", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED, and nothing stands for it: there is no %s here; Debian has it in docker.io and util-linux", program)
		}
	}
	dir := short(t)
	e := &Engine{Socket: filepath.Join(dir, "d.sock"), log: filepath.Join(dir, "log")}
	e.start(t, dir)
	api, err := client.New(client.WithHost("unix://" + e.Socket))
	if err != nil {
		t.Fatal(err)
	}
	e.api = api
	if err := e.usable(t); err != nil {
		t.Skipf("SKIPPED, and nothing stands for it: dockerd runs no containers here: %v\n%s", err, e.tail())
	}
	return e
}

// start runs dockerd in a mount and a PID namespace of its own: whatever it mounts
// and starts is gone when its first process is, and that one dies with the test.
func (e *Engine) start(t testing.TB, dir string) {
	t.Helper()
	group := fmt.Sprintf("/custos-test-%d-%s", os.Getpid(), filepath.Base(dir))
	log, err := os.Create(e.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "dockerd",
		"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none", "--cgroup-parent", group,
		"--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/d.pid", "-H", "unix://"+e.Socket)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	began := make(chan error, 1)
	e.ended = make(chan struct{})
	go func() {
		runtime.LockOSThread() // Pdeathsig comes when the thread that forked ends
		defer close(e.ended)
		err := cmd.Start()
		began <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		t.Skipf("SKIPPED, and nothing stands for it: cannot start dockerd: %v", err)
	}
	t.Cleanup(func() {
		e.clear()
		_ = cmd.Process.Kill() // and the kernel ends the whole namespace
		<-e.ended
		log.Close()
		sweep(group)
	})
}

// clear removes the containers, so that nothing of them stays in the kernel.
func (e *Engine) clear() {
	if e.api == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return
	}
	for _, c := range list.Items {
		_, _ = e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true})
	}
}

// sweep removes the empty control groups that the engine made.
func sweep(group string) {
	for range 100 {
		left := false
		dirs, _ := filepath.Glob("/sys/fs/cgroup/*" + group)
		for _, d := range append(dirs, "/sys/fs/cgroup"+group) {
			inside, _ := filepath.Glob(d + "/*/")
			for _, sub := range append(inside, d) {
				if err := os.Remove(sub); err != nil && !errors.Is(err, os.ErrNotExist) {
					left = true
				}
			}
		}
		if !left {
			return
		}
		time.Sleep(20 * time.Millisecond) // until the kernel has buried what was in them
	}
}

// usable waits until the engine answers, gives it its image, and runs one container.
func (e *Engine) usable(t testing.TB) error {
	t.Helper()
	answers := false
	Until(func() bool {
		_, err := e.api.Ping(t.Context(), client.PingOptions{NegotiateAPIVersion: true})
		answers = err == nil
		return answers || e.hasEnded()
	})
	if !answers {
		return errors.New("it does not answer")
	}
	if err := e.importImage(t.Context(), inside(t)); err != nil {
		return err
	}
	id, err := e.run(t.Context(), Run{Name: "canary", Command: []string{"/inside", "exit", "7"}})
	if err != nil {
		return err
	}
	if !Until(func() bool { s := e.State(t, id); return s.Status == "exited" && s.ExitCode == 7 }) {
		return errors.New("the first container does not end as it should")
	}
	_, err = e.api.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true})
	return err
}

func (e *Engine) hasEnded() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

func (e *Engine) tail() string {
	text, _ := os.ReadFile(e.log)
	return string(text[max(0, len(text)-1500):])
}

// inside builds the program that runs in the containers: static, for they hold
// nothing else.
func inside(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	bin := filepath.Join(t.TempDir(), "inside")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Dir, cmd.Env = filepath.Join(filepath.Dir(here), "testdata", "inside"), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build what runs in containers: %v\n%s", err, out)
	}
	return bin
}

func (e *Engine) importImage(ctx context.Context, bin string) error {
	text, err := os.ReadFile(bin)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "inside", Mode: 0o755, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err = w.Write(text); err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return e.load(ctx, &b, image)
}

// load imports an archive as an image; without a name nothing leads to it.
func (e *Engine) load(ctx context.Context, archive *bytes.Buffer, name string) error {
	got, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: archive, SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		return err
	}
	defer got.Close()
	var said bytes.Buffer
	_, err = said.ReadFrom(got)
	if err == nil && strings.Contains(said.String(), `"error"`) {
		err = errors.New(said.String())
	}
	return err
}

// Dangle makes an image of so many bytes that nothing names.
func (e *Engine) Dangle(t testing.TB, size int) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "ballast", Mode: 0o644, Size: int64(size)})
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = e.load(t.Context(), &b, "")
	}
	if err != nil {
		t.Fatalf("cannot make an image: %v", err)
	}
}

// Run is one container to run.
type Run struct {
	Name    string
	Command []string
	Policy  string // restart policy
	Memory  int64
	Check   []string // health check, every half second; one failure is enough
}

// Run starts a container of the test's image, and returns its ID.
func (e *Engine) Run(t testing.TB, r Run) string {
	t.Helper()
	id, err := e.run(t.Context(), r)
	if err != nil {
		t.Fatalf("cannot run container %s: %v\n%s", r.Name, err, e.tail())
	}
	return id
}

func (e *Engine) run(ctx context.Context, r Run) (string, error) {
	ctx, stop := context.WithTimeout(ctx, Patience)
	defer stop()
	config := &container.Config{Image: image, Cmd: r.Command}
	if len(r.Check) > 0 {
		config.Healthcheck = &container.HealthConfig{Test: append([]string{"CMD"}, r.Check...), Interval: 500 * time.Millisecond,
			Timeout: Patience, Retries: 1}
	}
	host := &container.HostConfig{NetworkMode: "none", RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyMode(r.Policy)}}
	host.Memory = r.Memory
	got, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: config, HostConfig: host, Name: r.Name})
	if err != nil {
		return "", err
	}
	_, err = e.api.ContainerStart(ctx, got.ID, client.ContainerStartOptions{})
	return got.ID, err
}

// State is how a container is now; the zero value when it cannot be told.
func (e *Engine) State(t testing.TB, id string) container.State {
	t.Helper()
	got, err := e.api.ContainerInspect(context.WithoutCancel(t.Context()), id, client.ContainerInspectOptions{})
	if err != nil || got.Container.State == nil {
		return container.State{}
	}
	return *got.Container.State
}

// Stop stops a container, as a person would.
func (e *Engine) Stop(t testing.TB, id string) {
	t.Helper()
	if _, err := e.api.ContainerStop(t.Context(), id, client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Remove removes a container.
func (e *Engine) Remove(t testing.TB, id string) {
	t.Helper()
	if _, err := e.api.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// Until asks again and again, until it is so or Patience has passed.
func Until(so func() bool) bool {
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) { // until the real world catches up
		if so() {
			return true
		}
	}
	return false
}
