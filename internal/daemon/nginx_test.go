package daemon_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nginx runs a real one by the site of docs/web.md, in front of the page at an address, and
// returns the port at which it listens. What is put into that text is what a person puts in.
func nginx(t *testing.T, page, cert, key string) (port string) {
	t.Helper()
	program := program(t, "nginx", "/usr/sbin/nginx")
	if program == "" {
		t.Skip("nginx is not installed: apt-get install nginx-light")
	}
	dir, listen := t.TempDir(), freePort(t)
	site := nginxSite(t)
	for _, put := range [][2]string{{"listen 443 ", "listen " + listen + " "}, {"box.example;", "box.test;"}, {"127.0.0.1:7777", page},
		{"/etc/ssl/certs/box.example.pem", cert}, {"/etc/ssl/private/box.example.key", key}} {
		if strings.Count(site, put[0]) != 1 {
			t.Fatalf("web.md has %q %d times", put[0], strings.Count(site, put[0]))
		}
		site = strings.Replace(site, put[0], put[1], 1)
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(nginxAround(dir)+"http {\naccess_log off;\n"+nginxFolders(dir)+site+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-p", dir, "-e", "stderr", "-c", conf}
	if out, err := exec.Command(program, append(args, "-t")...).CombinedOutput(); err != nil || strings.Contains(string(out), "[warn]") {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	said := &writer{}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ends(t, cmd, said) })
	await(t, said.String, func() bool { return listens(listen) })
	_, port, _ = net.SplitHostPort(listen)
	return port
}

// nginxSite is the site as the page shows it.
func nginxSite(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```nginx\n")
	site, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("web.md has no site of nginx")
	}
	return site
}

// nginxAround is what Debian's nginx.conf has, in a world of its own: one process, that ends
// with the test.
func nginxAround(dir string) string {
	return "daemon off;\nmaster_process off;\npid " + filepath.Join(dir, "pid") + ";\nerror_log stderr;\nevents {}\n"
}

func nginxFolders(dir string) (out string) {
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		out += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	return out
}
