package sessiontest_test

import (
	"testing"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
)

func TestFakePassesTheSuite(t *testing.T) {
	sessiontest.Test(t, func(*testing.T) (session.Viewer, sessiontest.Stage) {
		f := &sessiontest.Fake{}
		return f, f
	})
}
