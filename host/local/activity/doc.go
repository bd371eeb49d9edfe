// Package activity knows what the activities of Ops run: the programs, requests and
// functions that chant's names of activities stand for.
//
// [Project.Find] takes the name of an activity and its arguments as JSON, checks them
// before any step runs, and makes an [Action]. The action is given a [Call], which is
// one attempt of a step: through it programs run, output is shown and variables are
// set. The package starts no process by itself and knows nothing of runs, retries and
// journals; those are host/local's.
package activity
