// A process that searches an observation with psrsearch; include { PSRSEARCH } from './psrkit.nf'. Its script runs in any shell.
process PSRSEARCH {
    tag "${name}"
    cpus 8
    memory '16 GB'

    input:
    tuple val(name), path(observation)
    val options

    output:
    tuple val(name), path("${name}/report.html"), emit: report
    tuple val(name), path("${name}/search.json"), emit: summary

    script:
    """
    psrsearch -q -json -ncpus ${task.cpus} -o ${name} ${options} ${observation} >search.part
    mv search.part ${name}/search.json
    """
}
