// Package conformance holds no code of Custos: it is the tests that run real
// agent CLIs (claude-code, codex, opencode, gemini-cli from npm) against a model
// server of our own, in a home folder of their own and without any network, and
// compare what they do with what Custos reads of them.
//
// The model server and its tests are run by `make test`. The CLIs are run by
// `make conformance` only (build tag conformance): see docs/conformance.md.
package conformance
