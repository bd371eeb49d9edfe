package op

import "time"

// A Profile is the time limits and retries of a step. Its values are those of
// chant's activity profiles.
type Profile struct {
	Name         string
	StartToClose time.Duration // of one attempt
	Heartbeat    time.Duration // for Temporal; 0 for none
	Attempts     int           // at most, the first one included
	// The wait before attempt n+1 is Initial * Backoff^(n-1), at most
	// MaxInterval where that is not 0.
	Initial     time.Duration
	Backoff     float64
	MaxInterval time.Duration
	// NonRetryable are the names of the errors that end the attempts.
	NonRetryable []string
}

// defaultProfile is the one of a step in TypeScript that names none.
const defaultProfile = "fastIdempotent"

// Profiles lists the profiles that a step can name.
func Profiles() []Profile {
	const m, s = time.Minute, time.Second
	return []Profile{
		{Name: "fastIdempotent", StartToClose: 5 * m, Attempts: 3, Initial: 5 * s, Backoff: 2},
		{Name: "longInfra", StartToClose: 20 * m, Heartbeat: 60 * s, Attempts: 3, Initial: 30 * s, Backoff: 2},
		{Name: "k8sWait", StartToClose: 15 * m, Heartbeat: 60 * s, Attempts: 3, Initial: 10 * s, Backoff: 2, NonRetryable: []string{"ReadinessFailedError"}},
		{Name: "humanGate", StartToClose: 48 * time.Hour, Heartbeat: 90 * s, Attempts: 1},
		{Name: "argoSync", StartToClose: 30 * m, Heartbeat: 60 * s, Attempts: 5, Initial: 10 * s, Backoff: 2, MaxInterval: m, NonRetryable: []string{"ArgoSyncFailedError"}},
		{Name: "policyCheck", StartToClose: 5 * m, Attempts: 1},
	}
}

// Profile says what limits a step of c. A step that names no profile has chant's
// default in TypeScript, and one attempt in YAML and JSON, where nobody asked
// for more. A name that chant does not know stands for one attempt, as there.
func (c *Config) Profile(s *Step) Profile {
	name := s.Profile
	if name == "" && c.Format == TypeScript {
		name = defaultProfile
	}
	for _, p := range Profiles() {
		if p.Name == name {
			return p
		}
	}
	return Profile{Name: name, StartToClose: 5 * time.Minute, Attempts: 1}
}

// Wait is the time before the attempt that follows attempt n, which is 1 for the
// first.
func (p Profile) Wait(n int) time.Duration {
	wait := float64(p.Initial)
	for range n - 1 {
		wait *= p.Backoff
	}
	if most := float64(p.MaxInterval); most > 0 {
		wait = min(wait, most)
	}
	return time.Duration(wait)
}
