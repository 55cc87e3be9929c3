"""An executor for Snakemake whose jobs each begin in an empty folder, as pods of a cloud do."""

from __future__ import annotations

import subprocess
import tempfile

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=True,
    job_deploy_sources=True,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)


class Executor(RemoteExecutor):
    def get_python_executable(self):
        import sys

        return sys.executable

    def run_job(self, job):
        place = tempfile.mkdtemp(prefix="node.", dir="..")
        with open(f"{place}/said", "w") as said:
            process = subprocess.Popen(
                self.format_job_exec(job), shell=True, cwd=place, stdout=said, stderr=said
            )
        self.report_job_submission(SubmittedJobInfo(job, aux={"process": process}))

    async def check_active_jobs(self, active_jobs):
        for info in active_jobs:
            match info.aux["process"].poll():
                case None:
                    yield info
                case 0:
                    self.report_job_success(info)
                case _:
                    self.report_job_error(info)

    def cancel_jobs(self, active_jobs):
        for info in active_jobs:
            info.aux["process"].terminate()
