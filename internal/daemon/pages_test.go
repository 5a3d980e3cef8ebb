package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/release"
	"custos/internal/release/releasetest"
	"custos/internal/sys/procstat"
	"custos/internal/sys/systemdtest"
)

// reader does what the pages on installing, services and upgrades say, as a user whose home is /root:
// with programs of two versions, of which the second has a newer ledger, and a systemd that starts what units say.
type reader struct {
	*testing.T
	home   string
	holder int // a process in the mount namespace of this reader
	env    []string
	names  []string // what is typed in the place of what the pages have
	agent  int      // of which the process is to stay the same
	start  uint64
}

// TestThePagesOnServicesAndUpgrades types each block of docs/service.md and docs/upgrade.md, and
// of docs/install.md what is for the archive. What calls sudo is tried by scripts/package-check.
func TestThePagesOnServicesAndUpgrades(t *testing.T) {
	r := newReader(t)
	r.types("install.md", "From the archive")
	r.showsTheUnit()
	r.types("service.md", "systemd")
	if out := r.sh("custos health || true"); !strings.Contains(out, "none: no daemon is running") {
		t.Errorf("uninstalled, and health says %s", out)
	}
	r.sh("custos service install")
	r.sh("custos spawn builder --restart never --headless -- sleep 100000")
	r.agent = r.sleeper()
	s, err := procstat.Read("/proc", r.agent)
	if err != nil {
		t.Fatal(err)
	}
	r.start = s.Start
	r.blocksOf("upgrade.md", "The short way", "By hand")
}

func newReader(t *testing.T) *reader {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it lays a folder over /root")
	}
	home := t.TempDir()
	m := systemdtest.New(t, "/root/.config")
	m.Put("user/starts", "runs")
	r := &reader{T: t, home: home, env: []string{"HOME=/root", "PATH=/root/.local/bin:" + os.Getenv("PATH"), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=xterm", "TMUX_TMPDIR=" + home}}
	r.names = []string{"linux_amd64", "linux_" + runtime.GOARCH, "custos setup", "custos setup --yes",
		"custos service install", "custos service install --user", "custos service status", "custos service status --user", "custos service uninstall", "custos service uninstall --user",
		"custos up\n", "(setsid custos up >>~/up.log 2>&1 &); for i in $(seq 300); do ! custos health || break; sleep 0.1; done; custos health\n"}
	signer := releasetest.NewSigner(t)
	for version, more := range map[string]string{"0.1.0": "", "0.2.0": "ALTER TABLE agents ADD COLUMN more TEXT;"} {
		a := release.Archive{Version: version, OS: runtime.GOOS, Arch: runtime.GOARCH}
		if err := os.CopyFS(filepath.Join(home, "release-"+version), os.DirFS(filepath.Dir(signer.Make(t, a, built(t, version, more))))); err != nil {
			t.Fatal(err)
		}
	}
	r.enter()
	r.sh("cp release-0.1.0/" + releasetest.KeyName + " custos.pub")
	return r
}

// enter makes the mount namespace: the home is /root, and systemd is process 1, by its folder in /run.
func (r *reader) enter() {
	cmd := exec.Command("unshare", "--mount", "sh", "-ec", `mount --bind "$1" /root; mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system; echo ready; read end`, "sh", r.home)
	in, err := cmd.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	said := &writer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.holder = cmd.Process.Pid
	r.Cleanup(func() {
		if r.agent > 1 {
			_ = syscall.Kill(r.agent, syscall.SIGKILL)
		}
		_, _ = r.try("custos down; tmux kill-server")
		_, _ = in.Close(), cmd.Wait()
	})
	await(r.T, said.String, func() bool { return said.String() == "ready\n" })
}

// try types something, and sh something that goes well.
func (r *reader) try(script string) (string, error) {
	cmd := exec.Command("nsenter", "--target", strconv.Itoa(r.holder), "--mount", "sh", "-exc", "cd\n"+strings.NewReplacer(r.names...).Replace(script))
	cmd.Env, cmd.WaitDelay = r.env, 2*time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *reader) sh(script string) string {
	r.Helper()
	out, err := r.try(script)
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(r.home, "up.log")) // where nothing was begun by hand there is none
		r.Fatalf("%s\n%v\n%s\n%s", script, err, out, said)
	}
	r.Logf("%s\n%s", script, out)
	return out
}

// types types the one block below a heading.
func (r *reader) types(page, heading string) string {
	r.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	_, below, is := strings.Cut(string(text), "\n## "+heading+"\n")
	_, block, begins := strings.Cut(below, "```sh\n")
	block, _, ends := strings.Cut(block, "```")
	if err != nil || !is || !begins || !ends {
		r.Fatalf("%s has no commands below %q: %v", page, heading, err)
	}
	folder := "release-0.2.0"
	if strings.Contains(block, "custos_0.1.0_") {
		folder = "release-0.1.0"
	}
	return r.sh("cd " + folder + "\n" + block)
}

// showsTheUnit holds the unit that is printed against that of the page: but for the folders, they are one.
func (r *reader) showsTheUnit() {
	r.Helper()
	printed := r.sh("set +x; unset TMUX_TMPDIR; custos service install --print")
	page, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		r.Fatal(err)
	}
	_, unit, _ := strings.Cut(string(page), "```ini\n")
	unit, _, _ = strings.Cut(unit, "```")
	path := regexp.MustCompile(`Environment="PATH=.*"`)
	mark, printed, _ := strings.Cut(printed[strings.Index(printed, "# Written"):], "\n")
	want := path.ReplaceAllString(strings.ReplaceAll(unit, "/home/me/", "/root/"), "PATH")
	if got := path.ReplaceAllString(printed, "PATH"); got != want || !strings.Contains(mark, "custos service install") {
		r.Errorf("printed is\n%s\nand the page has\n%s", got, want)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return
	}
	r.sh("mkdir u; custos service install --print >u/custos.service")
	if out := r.sh("set +x; systemd-analyze verify --man=no u/custos.service"); strings.Contains(out, "custos.service") {
		r.Errorf("systemd says of it: %s", out)
	}
}

func (r *reader) sleeper() int {
	r.Helper()
	out := strings.TrimSpace(r.sh(`set +x; grep -lz '^sleep$' /proc/[0-9]*/cmdline | xargs grep -lz '^100000$'`))
	pid, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(out[strings.LastIndexByte(out, '\n')+1:], "/proc/"), "/cmdline"))
	if err != nil {
		r.Fatalf("no agent: %q", out)
	}
	return pid
}

// is wants the daemon and the program to be of a version, and the agent to be the same process.
func (r *reader) is(version string) {
	r.Helper()
	for _, words := range []string{"version --json", "status --json"} {
		if out := r.sh("custos " + words); !strings.Contains(out, `"version": "`+version+`"`) {
			r.Errorf("custos %s: want version %s in\n%s", words, version, out)
		}
	}
	if s, err := procstat.Read("/proc", r.agent); err != nil || s.Start != r.start {
		r.Errorf("the agent was process %d since %d, and that is %+v, %v", r.agent, r.start, s, err)
	}
}

// blocksOf goes through the page on upgrades: there, back, and there by hand.
func (r *reader) blocksOf(page, first, last string) {
	r.Helper()
	out := r.types(page, first)
	for _, want := range []string{"Would upgrade from 0.1.0 to 0.2.0, signed by the key", "Upgraded from 0.1.0 to 0.2.0; the daemon is well, and every agent runs on."} {
		if !strings.Contains(out, want) {
			r.Errorf("it does not say %q", want)
		}
	}
	r.is("0.2.0")
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		r.Fatal(err)
	}
	out, err = r.try("cd release-0.1.0; custos upgrade --from custos_0.1.0_linux_amd64.tar.gz --key ~/custos.pub")
	_, shown, _ := strings.Cut(string(text), "```\ncannot upgrade to 0.1.0: ")
	shown, _, _ = strings.Cut(shown, "\n```")
	name := regexp.MustCompile(`custos-v([0-9]+)-[0-9TZ.]+\.db`)
	same := func(s string) string {
		return regexp.MustCompile(`version [0-9]+|up to [0-9]+`).ReplaceAllString(name.ReplaceAllString(strings.ReplaceAll(s, "/root/", "~/"), "BACKUP"), "N")
	}
	backup := name.FindString(out)
	if err == nil || backup == "" || !strings.Contains(same(out), same(shown)) {
		r.Fatalf("an older release: %v\n%s\nand the page shows\n%s", err, out, shown)
	}
	r.names = append(r.names, name.FindString(string(text)), backup)
	r.types(page, "Going back")
	r.is("0.1.0")
	if out := r.sh("custos alerts"); !strings.Contains(out, "self-amnesia") {
		r.Errorf("that something is not known any more is not said:\n%s", out)
	}
	r.types(page, last)
	r.is("0.2.0")
}
