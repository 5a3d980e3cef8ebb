package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
)

// What [mail.TYPE] may say, and where it is wrong.
func TestMailSections(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"[mail.worker_done]\nwork = 'close'": "",
		"[mail.merge_ready]\ntrigger = 'merge'\nwork = 'add'": "",
		"[mail.worker-done]\nwork = 'close'":                  `custos.toml:1: [mail.worker-done]: there is no type of mail "worker-done", did you mean "worker_done"?`,
		"mode = 'auto'\n[mail.HELP]\nwork = 'clsoe'":          `custos.toml:3: [mail.HELP] work: "clsoe" is none of add, close, reopen, release, did you mean "close"?`,
		"[mail.bounce]\nwork = 'close'":                       `there is no type of mail "bounce"`,
		"[mail.HELP]":                                         "it says neither work, trigger nor merge",
		"[mail.merge_ready]\nmerge = ''":                      "",
		"[mail.merge_ready]\nmerge = 'shop'\n[merge.shop]\nrepo = '/r'\ntarget = 'main'\n[[merge.shop.gate]]\nname = 'x'\nrun = ['true']": "",
		"[mail.merge_ready]\nmerge = 'shpo'\n[merge.shop]\nrepo = '/r'\ntarget = 'main'\n[[merge.shop.gate]]\nname = 'x'\nrun = ['true']": `there is no [merge.shpo], did you mean "shop"?`,
		"[mail.HELP]\ntrigger = 'a:b'": `"a:b" is no name of a trigger`,
		"[mail.HELP]\nwrok = 'close'":  `wrok`,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "custos.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{File: file, Getenv: func(k string) string { return map[string]string{"HOME": dir}[k] }, Sections: Sections()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := mailActions(cfg)
		if want == "" && (err != nil || text == "" && len(got) > 0 || strings.Contains(text, "close") && got[fleet.MailWorkerDone].Work != "close") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
