package judge

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Settings say who is asked. The zero value asks none.
type Settings struct {
	// Kind is none (default), anthropic (Messages API), openai (chat
	// completions, as many servers speak it) or command (an agent CLI).
	Kind string `toml:"kind" is:"|none|anthropic|openai|command"`
	// Model is the model's name, needed by the two APIs.
	Model string `toml:"model"`
	// BaseURL is where the API is: http or https, which is meant when neither is
	// said. Default: that of the provider the API is named after.
	BaseURL string `toml:"base_url"`
	// CAFile holds the certificates of who vouches for that server, in PEM. Default: whom
	// the machine believes.
	CAFile string `toml:"ca_file" is:"path"`
	// Key says where the API's key is; none is sent without it.
	Key Key `toml:"key"`
	// Command is the argument vector of the CLI. The prompt goes to its standard
	// input, and never here.
	Command []string `toml:"command"`
	// Output says how the CLI answers: text, claude (--output-format json or
	// stream-json) or codex (exec --json). Default: by the flags in Command.
	Output string `toml:"output"`
	// Environment names variables that programs started here may see besides
	// those a CLI needs to find itself, its home and its proxy.
	Environment []string `toml:"environment" is:"name"`
	// InputPrice and OutputPrice are dollars per million tokens. Without both,
	// what a call cost is unknown, unless the CLI tells it.
	InputPrice  *float64 `toml:"input_price" is:"0..100000"`
	OutputPrice *float64 `toml:"output_price" is:"0..100000"`
}

// Key is one place where a key can be read, anew for each question: a file, what
// a program prints, or a variable of Custos's environment. The key itself is
// never part of a setting.
type Key struct {
	File    string   `toml:"file"`
	Command []string `toml:"command"`
	Env     string   `toml:"env" is:"name"`
}

// New returns a client for what the settings name. It reads no key and asks
// nothing; an error says which setting is wrong and never shows one that might
// be a key.
func New(s Settings) (*Client, error) {
	c, err := s.client()
	if err != nil {
		return nil, fmt.Errorf("cannot set up the judge: %w", err)
	}
	return c, nil
}

func (s Settings) client() (*Client, error) {
	if s.Kind == "" {
		s.Kind = "none"
	}
	p, err := newPrices(s)
	if err != nil {
		return nil, err
	}
	if err := checkNames("environment", s.Environment); err != nil {
		return nil, err
	}
	via, err := s.asker()
	if err != nil {
		return nil, err
	}
	return &Client{kind: s.Kind, via: via, prices: p}, nil
}

func (s Settings) asker() (asker, error) {
	switch s.Kind {
	case "none":
		return none{}, nil
	case "anthropic":
		return newAnthropic(s)
	case "openai":
		return newOpenAI(s)
	case "command":
		return newCommand(s)
	}
	return nil, fmt.Errorf("kind %q is none of none, anthropic, openai, command", s.Kind)
}

// api checks what both APIs need.
func (s Settings) api(base string) (*url.URL, error) {
	switch {
	case s.Model == "":
		return nil, fmt.Errorf("kind %s needs a model", s.Kind)
	case len(s.Command) > 0:
		return nil, fmt.Errorf("kind %s has no command", s.Kind)
	case s.BaseURL != "":
		base = s.BaseURL
	}
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	u, err := url.Parse(base)
	// What cannot be parsed is not shown: it may hold a password.
	if err != nil || u.Host == "" {
		return nil, errors.New("base_url is no URL")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("base_url is %s, only http and https are spoken", u.Scheme)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base_url has a user, a query or a fragment: a key belongs into key.file, key.command or key.env")
	}
	u.Path, u.RawPath = path.Clean("/"+u.Path), ""
	return u, s.Key.check()
}

func (k Key) check() error {
	named := 0
	for _, there := range []bool{k.File != "", len(k.Command) > 0, k.Env != ""} {
		if there {
			named++
		}
	}
	if named > 1 {
		return errors.New("key names more than one of file, command, env")
	}
	if k.Env != "" && !variable().MatchString(k.Env) {
		return errors.New("key.env is not the name of a variable")
	}
	if len(k.Command) > 0 && k.Command[0] == "" {
		return errors.New("key.command names no program")
	}
	return nil
}

func variable() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) }

// checkNames refuses what is no name, so that no value gets in, and what marks an
// agent of Custos: a judge is none.
func checkNames(key string, names []string) error {
	for _, n := range names {
		if !variable().MatchString(n) {
			return fmt.Errorf("%s holds something that is not the name of a variable", key)
		}
		if strings.HasPrefix(n, "CUSTOS_") {
			return fmt.Errorf("%s names %s, which is for agents of Custos", key, n)
		}
	}
	return nil
}
