package catalog

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"custos/internal/config"
)

// webSection is the section [web].
type webSection struct {
	Listen      string   `toml:"listen"` // "127.0.0.1:7777"
	Names       []string `toml:"names"`  // of this machine, as browsers are to call it
	TLSCert     string   `toml:"tls_cert" is:"path"`
	TLSKey      string   `toml:"tls_key" is:"path"`
	BehindProxy string   `toml:"behind_proxy"` // "https://host.example"
}

// WebPlace says where the page is served.
type WebPlace struct {
	Listen    string // HOST:PORT; "" for nowhere, until a person asks for it
	Names     []string
	Cert, Key string // files in PEM; "" without TLS
	Behind    string // origin of the proxy in front of it; "" without
}

// Web says where the page is served. local says whether an address is reached by this
// machine alone: anything else takes TLS, or a proxy that has it.
func Web(cfg config.Config, local func(address string) bool) (WebPlace, error) {
	var s webSection
	if err := cfg.Section("web", &s); err != nil {
		return WebPlace{}, err
	}
	if err := s.check(local); err != nil {
		return WebPlace{}, cfg.Misread("web", err)
	}
	p := WebPlace{Listen: s.Listen, Names: s.Names, Behind: strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s.BehindProxy), "/"), ":443")} // as browsers write it
	if s.TLSCert != "" {
		p.Cert, _ = cfg.Expand(s.TLSCert) // they were checked
		p.Key, _ = cfg.Expand(s.TLSKey)
	}
	return p, nil
}

func (s webSection) check(local func(string) bool) error {
	for _, name := range s.Names {
		if name == "" || net.ParseIP(name) == nil && strings.ContainsAny(name, "/:@ ?#[]*") || strings.HasSuffix(name, ".") {
			return fmt.Errorf(`names: %q is no name of a machine, like "box.example", without a port`, name)
		}
	}
	switch {
	case s.Listen != "" && !isAddress(s.Listen):
		return fmt.Errorf(`listen: %q is no address like "127.0.0.1:7777"`, s.Listen)
	case s.TLSCert != "" && s.TLSKey == "":
		return errors.New("tls_key: want the key that belongs to tls_cert")
	case s.TLSKey != "" && s.TLSCert == "":
		return errors.New("tls_cert: want the certificate that belongs to tls_key")
	case s.BehindProxy != "" && !isOrigin(s.BehindProxy):
		return fmt.Errorf(`behind_proxy: %q is not how a browser calls the proxy, like "https://box.example"`, s.BehindProxy)
	case s.Listen != "" && !local(s.Listen) && s.TLSCert == "" && s.BehindProxy == "":
		return fmt.Errorf("listen: %q is reached by other machines: give tls_cert and tls_key, name the proxy with TLS in front of it (behind_proxy), or listen on 127.0.0.1", s.Listen)
	}
	return nil
}

// isOrigin says whether something is https://HOST or https://HOST:PORT.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && strings.EqualFold(u.Scheme, "https") && u.Hostname() != "" && u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
}
