package httpjson

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"

	"custos/internal/sys/files"
)

// maxRoots is in bytes: all authorities that Debian knows have 230 KiB.
const maxRoots = 1 << 20

// Roots reads who may vouch for a server: the certificates in a file, in PEM, and nobody else.
func Roots(file string) (*x509.CertPool, error) { return add(x509.NewCertPool(), file) }

// RootsBesides is whom the machine believes, and the certificates in a file.
func RootsBesides(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	return add(pool, file)
}

func add(pool *x509.CertPool, file string) (*x509.CertPool, error) {
	text, err := files.ReadOthers(file, maxRoots)
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("there is no certificate in it: want PEM, with -----BEGIN CERTIFICATE-----")
	}
	return pool, nil
}

// Transport is Go's usual one for servers that roots vouch for; nil: whom the machine believes.
func Transport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return t
}

// Client is a client with a time-out, that follows no redirect, for servers that roots vouch
// for. Without roots it is nil, by which Ask means the same for whom the machine believes.
func Client(roots *x509.CertPool) *http.Client {
	if roots == nil {
		return nil
	}
	return &http.Client{Timeout: patience, CheckRedirect: Stay, Transport: Transport(roots)}
}
